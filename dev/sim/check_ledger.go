package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Ledger is what the ledger says of a job at the end.
type Ledger struct {
	// Due are the ticks that some replica saw come due, and lived to tell.
	Due []time.Time
	// CaughtUp: missed ticks were caught up, so none is missed; none is skipped that came
	// without a replica.
	CaughtUp bool
	// CatchUp is how long after a tick a replica may still run it. A drain records no such tick: the
	// next replica finds it in the past. 0: nothing is caught up.
	CatchUp time.Duration
	// Lines are the outcomes, one per tick.
	Lines []Line
}

// A Line is the outcome of a tick.
type Line struct {
	Tick    time.Time
	Token   uint64
	Outcome string
	Reason  string
	Trigger string // why it was run
	Ran     bool   // the outcome is that of a run
}

// end is the instant of the last event.
func (r Record) end() time.Duration {
	if len(r.Events) == 0 {
		return 0
	}
	return r.Events[len(r.Events)-1].At
}

// checkLedgers: every tick has one outcome, with a reason if it did not run. A
// tick that ran is known to have run; in calm weather all have.
func checkLedgers(r Record) []Violation {
	var list []Violation
	end := r.end()
	began := map[string]*claim{}
	for _, c := range fold(r.Events) {
		if c.began != none {
			began[tickName(c.Job, c.Tick)] = c
		}
	}
	asked := map[string]time.Duration{} // last
	for _, e := range r.Events {
		if e.What == Asked {
			asked[tickName(e.Job, e.Tick)] = e.At
		}
	}
	// another: one that is not the last that ran may have the last word, such as that of
	// a replica which died before it knew that it had won.
	another := func(l Line, c *claim) bool {
		again := c.Rerun && l.Token > c.Token && asked[tickName(c.Job, c.Tick)] > c.At
		return again || l.Outcome == "interrupted" && r.forgotten(c)
	}
	for _, job := range slices.Sorted(maps.Keys(r.Ledgers)) {
		say := func(promise string, tick time.Time, format string, args ...any) {
			list = append(list, Violation{promise, end, fmt.Sprintf("tick %s of %s ", stamp(tick), job) + fmt.Sprintf(format, args...)})
		}
		lines := map[time.Time]Line{}
		for _, l := range r.Ledgers[job].Lines {
			if other, twice := lines[l.Tick]; twice {
				say(Known, l.Tick, "has two outcomes: %s and %s", other.Outcome, l.Outcome)
			}
			lines[l.Tick] = l
			c := began[tickName(job, l.Tick)]
			switch {
			case !l.Ran && strings.TrimSpace(l.Reason) == "":
				say(Known, l.Tick, "is %s without a reason", l.Outcome)
			case c != nil && !l.Ran:
				say(Known, l.Tick, "was run by %v, the ledger has: %s (%s)", c, l.Outcome, l.Reason)
			case c != nil && l.Token != c.Token && !another(l, c):
				say(Known, l.Tick, "was run by %v, the ledger has token %d", c, l.Token)
			}
		}
		for _, l := range r.Ledgers[job].Lines {
			if r.Ledgers[job].CaughtUp && (l.Outcome == "missed" || l.Outcome == "skipped" && r.unseen(job, l.Tick)) {
				say(CaughtUp, l.Tick, "was %s: %s", l.Outcome, l.Reason)
			}
		}
		for _, tick := range r.Ledgers[job].Due {
			line, known := lines[tick]
			switch {
			case !known && began[tickName(job, tick)] == nil && r.left(job, tick):
				// for a replica that would start now
			case !known && !r.orphaned(job, tick):
				say(Known, tick, "is not in the ledger")
			case r.Calm && !line.Ran:
				say(Alive, tick, "was %s: %s", line.Outcome, line.Reason)
			}
		}
	}
	return list
}

// forgotten reports whether a node came back without some of its memory since the claim
// was asked for. Then fewer than a quorum may have the claim's record, as they have
// that of an attempt which gave up or was interrupted, and of two that never finished
// the ledger may name the other: docs/guarantees/ledger.md.
func (r Record) forgotten(c *claim) bool {
	return slices.ContainsFunc(r.Events, func(e Event) bool {
		return e.What == Happened && e.At > c.asked &&
			(strings.HasSuffix(e.Text, "comes back with "+Nothing.String()) || strings.HasSuffix(e.Text, "comes back with "+Older.String()))
	})
}

// orphaned reports whether every live replica that tried to claim the tick learned of
// another's claim, and that replica gave the claim back, and was killed before it recorded so.
// docs/guarantees/ledger.md does not promise an entry for such a tick.
func (r Record) orphaned(job string, tick time.Time) bool {
	heard, died, holds := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, e := range r.Events {
		mine := e.Job == job && e.Tick.Equal(tick)
		switch {
		case e.What == Died:
			died[e.Replica] = true
		case mine && e.What == Granted:
			heard[e.Replica], holds[e.Replica] = "", true
		case mine && e.What == Voiding:
			delete(holds, e.Replica)
		case mine && (e.What == Refused || e.What == Looked):
			heard[e.Replica] = e.Text
		}
	}
	given := false
	for replica, text := range heard {
		taken := text == locking.ErrClaimed.Error()
		if !taken && !died[replica] {
			return false // it knew that no other replica would record it
		}
		given = given || !taken
	}
	return given && len(holds) == 0
}

// left reports whether a tick to be caught up was left to the next replica: it may still run it when
// all have left, or one has left that still waited for another run to end.
func (r Record) left(job string, tick time.Time) bool {
	window := r.Ledgers[job].CatchUp
	if window == 0 || tick.Sub(r.Start)+window+r.Clocks > r.end() {
		return window > 0
	}
	tried := map[string]time.Duration{} // last
	for _, e := range r.Events {
		switch at, known := tried[e.Replica]; {
		case e.Job == job && e.Tick.Equal(tick):
			tried[e.Replica] = e.At
		case e.What == Left && known && e.At-at < longestPause:
			return true
		}
	}
	return false
}

// longestPause is more than an attempt pauses between two tries.
const longestPause = 5 * time.Second

// unseen reports whether no replica served when the tick came, and nothing else
// keeps it from being caught up.
func (r Record) unseen(job string, tick time.Time) bool {
	off := r.Clocks + 100*time.Millisecond
	at, serves := tick.Sub(r.Start), map[string]bool{}
	for _, e := range r.Events {
		switch {
		case e.Job == job && e.What == Paused:
			return false
		case e.What == Serving && e.At < at+off:
			serves[e.Replica] = true
		case e.What == Died && e.At < at-off:
			delete(serves, e.Replica)
		}
	}
	return len(serves) == 0 && r.Rules[job].Group == ""
}

func tickName(job string, tick time.Time) string { return job + "@" + stamp(tick) }
