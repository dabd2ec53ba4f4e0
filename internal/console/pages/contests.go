package pages

import (
	"sync"
	"time"
)

// mostContests bounds the remembered contests.
const mostContests = 500

// A contest is a tick that this replica competed for and lost.
type contest struct {
	job      string
	tick, at time.Time
}

// contests are the latest lost contests of this replica. The nodes record only the winner,
// so each replica knows only its own.
type contests struct {
	mu   sync.Mutex
	ring [mostContests]contest
	n    int
}

func (c *contests) add(one contest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.n%mostContests] = one
	c.n++
}

// since returns the contests lost since a time.
func (c *contests) since(from time.Time) []contest {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []contest
	for _, one := range c.ring[:min(c.n, mostContests)] {
		if one.at.After(from) {
			list = append(list, one)
		}
	}
	return list
}

// Lost records a lost contest.
func (p *Pages) Lost(job string, tick time.Time) {
	p.contests.add(contest{job: job, tick: tick, at: time.Now()})
}
