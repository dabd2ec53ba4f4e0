package acts

import (
	"maps"
	"net/url"
	"slices"

	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// A picture combines the views of several nodes.
type picture struct {
	quorum int
	views  []view
	now    int64            // the median of their clocks, ms
	best   map[string]value // the most advanced value of each register
}

func merge(quorum int, views []view) picture {
	p := picture{quorum: quorum, views: views, best: map[string]value{}}
	var clocks []int64
	held := map[string][]value{}
	for _, v := range views {
		clocks = append(clocks, v.now)
		for field, val := range v.values {
			if val.state != reserved {
				held[field] = append(held[field], val)
			}
		}
	}
	slices.Sort(clocks)
	p.now = clocks[(len(clocks)-1)/2]
	for field, all := range held {
		best := furthest(all)
		if best.state == pauseOrResume {
			best = latest(all)
		}
		if best.until == 0 || best.until+keepExpired.Milliseconds() > p.now {
			p.best[field] = best
		}
	}
	return p
}

// latest returns the pause or resume that counts.
func latest(all []value) value {
	return slices.MaxFunc(all, func(x, y value) int {
		if x.supersedes(y) {
			return 1
		}
		return -1
	})
}

// supersedes reports whether v wins over other, a pause or resume of the same target.
// learn.lua has the same rule.
func (v value) supersedes(other value) bool {
	return v.at > other.at || v.at == other.at && v.rest > other.rest
}

// lacking returns for each view the values that its node lacks.
func (p picture) lacking() []map[string]value {
	lacking := make([]map[string]value, len(p.views))
	for i, v := range p.views {
		lacking[i] = map[string]value{}
		for field, best := range p.best {
			if v.lacks(field, best) {
				lacking[i][field] = best
			}
		}
	}
	return lacking
}

// lacks reports whether the node would accept best, as in learn.lua.
func (v view) lacks(field string, best value) bool {
	have, known := v.values[field]
	switch {
	case best.state == pauseOrResume:
		return !known || best.supersedes(have)
	case best.until+keepExpired.Milliseconds() <= v.now:
		return false
	case best.state == closed:
		return have.state != closed
	}
	return !known || have.state == reserved && have.until <= v.now
}

// vouching counts the nodes whose memory is complete.
func (p picture) vouching() int {
	n := 0
	for _, v := range p.views {
		if v.vouches {
			n++
		}
	}
	return n
}

// open returns the acts in force.
func (p picture) open(u *unreadable.Log) acts.Open {
	var all acts.Open
	settled := p.settled()
	for _, field := range slices.Sorted(maps.Keys(p.best)) {
		v := p.best[field]
		act, err := v.act()
		if err != nil {
			u.Skipped("act "+field, err)
		}
		switch {
		case err != nil && v.state == pauseOrResume:
			line, _ := url.PathUnescape(v.line) // else it is a line that no job has
			all.Pauses = append(all.Pauses, unreadable.Pause(line, err))
		case err != nil:
		case v.state == closed, act.Kind == acts.Resume:
		case v.state == pauseOrResume:
			all.Pauses = append(all.Pauses, act)
		case v.until <= p.now:
			all.Expired = append(all.Expired, act)
		case settled.before(v):
			all.Requests = append(all.Requests, act)
		}
	}
	acts.Sort(all.Requests)
	acts.Sort(all.Expired)
	return all
}

// settled is for each line the instant before which all its requests are known; no
// entry means no bound.
type settled map[string]int64

func (s settled) bound(line string, at int64) {
	if have, bounded := s[line]; !bounded || at < have {
		s[line] = at
	}
}

func (s settled) before(v value) bool {
	bound, bounded := s[v.line]
	return !bounded || v.at < bound
}

// settled says which requests must wait, so none overtakes an earlier one. A reserved
// instant blocks later ones; a request that too few nodes hold blocks itself and later
// ones.
func (p picture) settled() settled {
	s := settled{}
	for field, best := range p.best {
		if best.state == open && best.until > p.now && !p.confirmed(field, best) {
			s.bound(best.line, best.at)
		}
	}
	for _, v := range p.views {
		for _, val := range v.values {
			if val.state == reserved && val.until > v.now {
				s.bound(val.line, val.at+1)
			}
		}
	}
	return s
}

// confirmed reports whether a quorum holds the request. Nodes never change its instant,
// so then no other instant can be confirmed.
func (p picture) confirmed(field string, best value) bool {
	n := 0
	for _, v := range p.views {
		if v.values[field].at == best.at && v.values[field].state == open {
			n++
		}
	}
	return n >= p.quorum
}
