package sim

import (
	"fmt"
	"slices"
	"time"
)

// A claim is the result of one attempt.
type claim struct {
	Event   // the grant
	asked   time.Duration
	leases  []span
	ending  time.Duration // when it began to be given back; never: none
	ended   time.Duration // when others knew
	voided  bool
	began   time.Duration
	stopped time.Duration // the job's context ended, the job returned, or the process died
	died    bool          // the process died
	trigger string        // why it began
	why     string        // the context ended
}

// A span is a time from an instant up to another, which is not part of it.
type span struct{ from, until time.Duration }

// none is an instant that never came.
const none = time.Duration(-1)

// fold gathers the events of each granted claim, in the order of the grants.
func fold(events []Event) []*claim {
	var list []*claim
	asked, byName := map[string]time.Duration{}, map[string]*claim{}
	for _, e := range events {
		switch e.What {
		case Died:
			for _, c := range list {
				if c.Replica == e.Replica && c.began != none && c.stopped == none {
					c.stopped, c.died = e.At, true
				}
			}
			continue
		case Asked:
			asked[e.Claim] = e.At
			continue
		case Granted:
			c := &claim{Event: e, asked: asked[e.Claim], ending: none, ended: none, began: none, stopped: none}
			c.leases = []span{{e.At, e.Until}}
			byName[e.Claim], list = c, append(list, c)
			continue
		}
		if c := byName[e.Claim]; c != nil {
			c.take(e)
		}
	}
	return list
}

func (c *claim) take(e Event) {
	switch e.What {
	case Extended:
		if last := &c.leases[len(c.leases)-1]; e.At <= last.until {
			last.until = e.Until
		} else {
			c.leases = append(c.leases, span{e.At, e.Until})
		}
	case Ending, Handing, Voiding:
		if c.ending == none {
			c.ending = e.At
		}
		c.voided = c.voided || e.What == Voiding
	case Ended:
		c.ended = e.At
	case Began:
		if c.began == none {
			c.began, c.trigger = e.At, e.Text
		}
		c.stopped = none // it may be called again
	case Stopped, Returned:
		if c.stopped == none {
			c.stopped, c.why = e.At, e.Text
		}
	}
}

// held reports whether the claim's owner could believe, at an instant, that it is the only
// one.
func (c *claim) held(at time.Duration) bool {
	return (c.ending == none || at < c.ending) &&
		slices.ContainsFunc(c.leases, func(s span) bool { return s.from <= at && at < s.until })
}

// overlap returns an instant at which both were held, if there is one.
func (c *claim) overlap(d *claim) (time.Duration, bool) {
	for _, a := range c.leases {
		for _, b := range d.leases {
			if at := max(a.from, b.from); c.held(at) && d.held(at) {
				return at, true
			}
		}
	}
	return 0, false
}

func (c *claim) String() string {
	return fmt.Sprintf("%s (token %d+%d)", c.Claim, c.Token>>20, c.Token&(1<<20-1))
}

// end is the last instant of any of its leases.
func (c *claim) end() time.Duration {
	end := c.leases[len(c.leases)-1].until
	if c.ending != none {
		end = min(end, c.ending)
	}
	return end
}
