package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Record is everything known of a world at its end.
type Record struct {
	Events []Event
	Margin time.Duration // between the end of a job's context and of its lease
	Clocks time.Duration // by which those of replicas may be off
	// Exclusive: nothing happened that lets leases overlap, such as a node's
	// clock that was set.
	Exclusive bool
	// Calm: nothing happened that keeps ticks from running.
	Calm bool
	// Ledgers are the ledgers at the end, by job; nil if they need not be whole,
	// since too many nodes have forgotten.
	Ledgers map[string]Ledger

	// Start is when the world began.
	Start time.Time
	// Rules are those of the jobs that have some, Limits those of groups that must
	// stay within them, Slots the groups by the names under which their slots are
	// claimed.
	Rules  map[string]Rules
	Limits map[string]int
	Slots  map[string]string
	// Heard is how long after a pause was acknowledged a run may still begin. 0: it
	// is not looked at.
	Heard time.Duration
}

// A Violation is a promise that was broken.
type Violation struct {
	Promise string
	At      time.Duration
	Text    string
}

func (v Violation) String() string {
	return fmt.Sprintf("%.6fs %s: %s", v.At.Seconds(), v.Promise, v.Text)
}

// The promises that are checked.
const (
	Once   = "once per tick"
	Tokens = "tokens only grow"
	Lease  = "work stops before the lease ends"
	Stale  = "stale writes are refused"
	Alone  = "one lease at a time"
	Known  = "every tick has an outcome"
	Alive  = "ticks run in calm weather"

	Order    = "ticks are claimed in their order"
	Attempts = "attempts grow with their tokens"
	Late     = "no run begins later than its policy allows"
	Replaced = "a run stops when its job's next tick replaces it"
	Limit    = "groups stay within their limits"
	Pause    = "a paused job does not begin"
	CaughtUp = "what was missed is caught up"
	Again    = "interrupted runs are run again"
	Spared   = "nothing but its policies ends a run"
	Gone     = "a job that was dropped is not claimed"
)

// Promises are all that are checked, in the order of listings.
func Promises() []string {
	return []string{Once, Tokens, Lease, Stale, Alone, Known, Alive, Order, Attempts, Late, Replaced, Limit, Pause, CaughtUp, Again, Spared, Gone}
}

// Check returns every broken promise, the earliest first.
func Check(r Record) []Violation {
	all, claims := fold(r.Events), map[string][]*claim{}
	for _, c := range all {
		claims[c.Job] = append(claims[c.Job], c)
	}
	list := checkLimits(all, r)
	for _, job := range claims {
		list = append(list, checkOnce(job)...)
		list = append(list, checkTokens(job)...)
		list = append(list, checkOrder(job)...)
		list = append(list, checkAttempts(job)...)
		list = append(list, checkLatest(job, r)...)
		list = append(list, checkReplaced(job, r)...)
		list = append(list, checkPauses(job, r)...)
		list = append(list, checkSpared(job, r)...)
		list = append(list, checkGone(job, r)...)
		list = append(list, checkLeases(job, r)...)
		list = append(list, checkWrites(job, r)...)
		if r.Exclusive {
			list = append(list, checkAlone(job)...)
		}
	}
	list = append(list, checkLedgers(r)...)
	list = append(list, checkAgain(r)...)
	slices.SortFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Promise, b.Promise), cmp.Compare(a.Text, b.Text))
	})
	return list
}

// checkOnce: of a tick there are no two claims, unless one was given back
// unused, or all ask to run at least once and none had finished when the next
// was asked for.
func checkOnce(claims []*claim) []Violation {
	var list []Violation
	byTick := map[string][]*claim{}
	for _, c := range claims {
		unused := c.voided && c.began == none
		if !c.Tick.IsZero() && !unused {
			tick := stamp(c.Tick) + c.Stream
			byTick[tick] = append(byTick[tick], c)
		}
	}
	for tick, claims := range byTick {
		for i, later := range claims {
			for _, earlier := range claims[:i] {
				again := later.Rerun && earlier.Rerun && (earlier.ended == none || earlier.ended > later.asked)
				if !again {
					list = append(list, Violation{Once, later.At, fmt.Sprintf(
						"tick %s of %s was given to %v and to %v", tick, later.Job, earlier, later)})
				}
			}
		}
	}
	return list
}

// checkTokens: no two claims carry the same token, and one that was asked for
// after another was granted carries a larger one.
func checkTokens(claims []*claim) []Violation {
	var list []Violation
	byToken := map[uint64]*claim{}
	for _, c := range claims {
		if other := byToken[c.Token]; other != nil {
			list = append(list, Violation{Tokens, c.At, fmt.Sprintf("%v and %v carry the same", other, c)})
		}
		byToken[c.Token] = c
	}
	byAsked := slices.Clone(claims)
	slices.SortStableFunc(byAsked, func(a, b *claim) int { return cmp.Compare(a.asked, b.asked) })
	var largest *claim // of those granted before c was asked for
	next := 0
	for _, c := range byAsked {
		for ; next < len(claims) && claims[next].At < c.asked; next++ {
			if largest == nil || claims[next].Token > largest.Token {
				largest = claims[next]
			}
		}
		if largest != nil && c.Token < largest.Token {
			list = append(list, Violation{Tokens, c.At, fmt.Sprintf(
				"%v was granted before %v was asked for", largest, c)})
		}
	}
	return list
}

// slack is what timers and the checker may differ by.
const slack = time.Millisecond

// checkLeases: a job's context ends a margin before the lease, and no job is
// called later than that.
func checkLeases(claims []*claim, r Record) []Violation {
	var list []Violation
	for _, c := range claims {
		if c.began == none {
			continue
		}
		stopped := c.stopped
		for _, s := range c.leases {
			end := s.until - r.Margin + slack
			if c.began > end && len(c.leases) == 1 {
				list = append(list, Violation{Lease, c.began, fmt.Sprintf("%v began the job too late for its lease", c)})
			} else if stopped == none || stopped > end {
				list = append(list, Violation{Lease, end, fmt.Sprintf("%v had a lease until %v, and its job's context had not ended %v before", c, s.until, r.Margin)})
			}
		}
	}
	return list
}

// checkWrites: once a later claim has written, an earlier one does not; and
// while leases cannot overlap, no write under a lease is refused, unless a later
// run has written beside it.
func checkWrites(claims []*claim, r Record) []Violation {
	byName := map[string]*claim{}
	for _, c := range claims {
		byName[c.Claim] = c
	}
	var list []Violation
	var latest *claim  // of those that have written, the one asked for last
	var largest uint64 // of the tokens that have written
	for _, e := range r.Events {
		c := byName[e.Claim]
		switch {
		case c == nil:
		case e.What == Wrote:
			if latest != nil && c.At < latest.asked {
				list = append(list, Violation{Stale, e.At, fmt.Sprintf("a write of %v was taken after one of %v", c, latest)})
			}
			if largest = max(largest, c.Token); latest == nil || c.asked > latest.asked {
				latest = c
			}
		case e.What == Rejected && c.Beside && largest > c.Token:
		case e.What == Rejected && r.Exclusive && c.held(e.At):
			list = append(list, Violation{Stale, e.At, fmt.Sprintf("a write of %v was refused under its lease", c)})
		}
	}
	return list
}

// checkAlone: no two claims are held at an instant, unless both allow it. Leases
// last for seconds, so only neighbours are compared.
func checkAlone(claims []*claim) []Violation {
	var list []Violation
	var open []*claim
	for _, c := range claims {
		open = slices.DeleteFunc(open, func(o *claim) bool { return o.end() <= c.At })
		for _, o := range open {
			if at, both := o.overlap(c); both && (!o.Beside || !c.Beside) {
				list = append(list, Violation{Alone, at, fmt.Sprintf("%v and %v are both held", o, c)})
			}
		}
		open = append(open, c)
	}
	return list
}
