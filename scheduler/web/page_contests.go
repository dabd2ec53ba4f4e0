package web

import (
	"sync"
	"time"
)

// mostContests bounds the contests that are remembered.
const mostContests = 500

// A contest is a tick that another replica has won.
type contest struct {
	job      string
	tick, at time.Time
}

// contests are those that this replica has lost lately. The nodes keep who won, not
// who else tried, so that each replica knows only its own.
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

// since returns those that were lost since a time.
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
