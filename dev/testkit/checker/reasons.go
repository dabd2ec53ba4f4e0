package checker

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// The codes of reasons whose cause can be checked.
const (
	noReplica   = string(ledger.CodeNoReplica)
	drainedCode = string(ledger.CodeDrained)
	asleep      = string(ledger.CodeAsleep)
	overlap     = string(ledger.CodeOverlap)
	unknown     = string(ledger.CodeUnknown)
	historyLost = string(ledger.CodeHistoryLost)
	lateEnd     = string(ledger.CodeLateEnd) // a reader adds it

	startingCode = string(ledger.CodeStarting)
)

func causes() []string { return []string{noReplica, drainedCode, asleep, overlap, unknown} }

// noticed is how long a replica must live after a tick to count as alive at the tick.
const noticed = time.Second

// reason checks the cause that a row gives.
func (c *checker) reason(row Row) {
	window := Span{row.At, row.At.Add(c.Window)}
	switch row.Code {
	case noReplica:
		for _, l := range c.Incarnations {
			if l.ready(Span{row.At, row.At.Add(noticed)}) && !l.tookAlong(row.Tick, window) {
				c.violation(row.Tick, "is %v, but %s was running", row, l.Replica)
			}
		}
	case drainedCode:
		c.drained(row, window)
	case asleep:
		if !c.foreign(row.Replica) && !slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool { return l.Replica == row.Replica && l.alive(Span{row.At, row.At}) }) {
			c.violation(row.Tick, "is %v, but %s was not there to sleep", row, row.Replica)
		}
	case overlap:
		if !c.overlapped(row, window) {
			c.violation(row.Tick, "is %v, but no earlier run of the job was going on", row)
		}
	case unknown:
		// One that is killed as the window closes has had no time to record what it did not decide before.
		recorded := Span{window.From, window.To.Add(noticed)}
		if slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool { return l.ready(recorded) && !l.tookAlong(row.Tick, window) }) {
			c.violation(row.Tick, "is %v, but a replica was there to know", row)
		}
	}
}

// drained: the replica drained before the tick's window closed, and no other replica could
// decide the tick, or all drained. The window of a job that catches up is longer than the others'.
func (c *checker) drained(row Row, window Span) {
	did := c.foreign(row.Replica)
	for _, l := range c.Incarnations {
		did = did || l.Replica == row.Replica && !l.Drained.IsZero() && l.Drained.Before(window.To)
		too := slices.ContainsFunc(l.about(row.Tick, NoRun), func(s Report) bool {
			return s.Code == drainedCode && !l.Drained.IsZero() && !s.At.Before(l.Drained)
		})
		if l.ready(window) && !too {
			c.violation(row.Tick, "is %v, but %s was there to deal with it", row, l.Replica)
		}
	}
	if !did {
		c.violation(row.Tick, "is %v, but %s did not drain", row, row.Replica)
	}
}
