package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Violation is a difference between the ledger and what happened to a tick.
type Violation struct {
	Tick
	Text string
}

func (l Violation) String() string { return l.Tick.String() + ": " + l.Text }

// Check returns all violations, sorted by tick.
func Check(r Record) []Violation {
	c := checker{Record: r.renamed(), rows: map[Tick]Row{}, sink: map[Tick][]Effect{}}
	for _, e := range c.Sink {
		c.sink[e.key()] = append(c.sink[e.key()], e)
	}
	due := map[Tick]bool{}
	for _, t := range r.Ticks {
		due[t.key()] = true
	}
	for _, row := range r.Rows {
		if other, twice := c.rows[row.key()]; twice {
			c.violation(row.Tick, "has two rows: %v and %v", other, row)
		}
		c.rows[row.key()] = row
		if row.At.After(r.Read) {
			c.violation(row.Tick, "is %v, but it was still to come", row)
		} else if due[row.key()] { // of other ticks, not everything is known
			c.row(row)
		}
	}
	for t := range due {
		if _, known := c.rows[t]; !known && !c.nobodys(t) {
			c.violation(t, "has no row; %s", c.happened(t))
		}
	}
	slices.SortFunc(c.violations, func(a, b Violation) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Text, b.Text))
	})
	return c.violations
}

type checker struct {
	Record
	rows       map[Tick]Row
	sink       map[Tick][]Effect
	violations []Violation
}

func (c *checker) violation(t Tick, format string, args ...any) {
	c.violations = append(c.violations, Violation{t, fmt.Sprintf(format, args...)})
}

// nobodys reports whether the tick came before any replica could run one: before all that ran, and
// the replicas knew of it that they were starting. Nobody has missed it.
func (c *checker) nobodys(t Tick) bool {
	starting := false
	for _, l := range c.Incarnations {
		for _, s := range l.Reports {
			switch {
			case s.What == Won && !s.Tick.At.After(t.At):
				return false
			case s.key() == t.key():
				if s.Code != startingCode {
					return false
				}
				starting = true
			}
		}
	}
	return starting
}

// row checks one row.
func (c *checker) row(row Row) {
	if skips := row.Code == overlap; skips && row.Outcome == ledger.Missed || !skips && slices.Contains(causes(), row.Code) && row.Outcome == ledger.Skipped {
		c.violation(row.Tick, "is %s for %s, which is no reason for that", row.Outcome, row.Code)
	}
	if ran(row) {
		c.run(row)
		return
	}
	if row.Code == "" {
		c.violation(row.Tick, "is %s without a reason", row.Outcome)
	}
	if row.Code == historyLost {
		if !c.Forgot && !c.Promoted {
			c.violation(row.Tick, "is %v, but the nodes kept their memory", row)
		}
		if !c.Promoted {
			return // it may have run
		}
	}
	for _, e := range c.sink[row.key()] {
		if c.lostClaim(row.Tick, e.Token) {
			continue
		}
		c.violation(row.Tick, "is %v, but the sink saw it run on %s with token %d", row, e.Replica, e.Token)
	}
	c.ended(row)
	c.recorded(row)
	c.reason(row)
}

// ran reports whether the row is that of a run.
func ran(row Row) bool {
	return ledger.Entry{Outcome: row.Outcome, Token: locking.Token(row.Token)}.Ran()
}

// run checks the row of a run.
func (c *checker) run(row Row) {
	if row.Outcome == ledger.Running {
		if !c.mayRun(row) {
			c.violation(row.Tick, "is %v, but nobody can still run it", row)
		}
		return
	}
	var last Effect // the last effect that finished
	for _, e := range c.sink[row.key()] {
		if e.Finished && e.Token >= last.Token && (e.Token <= row.Token || !c.lostClaim(row.Tick, e.Token)) {
			last = e
		}
	}
	switch {
	case row.Outcome == ledger.Succeeded && last.Token == 0:
		c.violation(row.Tick, "is %v, but the sink did not see it finish", row)
	case last.Token != 0 && last.Token > row.Token:
		c.violation(row.Tick, "names token %d, but the sink saw %s finish with the later token %d", row.Token, last.Replica, last.Token)
	case row.Outcome == ledger.Succeeded && last.Token != row.Token:
		c.violation(row.Tick, "names token %d, but the sink saw %s finish with token %d", row.Token, last.Replica, last.Token)
	case last.Token == row.Token && last.Token != 0 && last.Replica != row.Replica:
		c.violation(row.Tick, "names %s, but the sink saw %s finish", row.Replica, last.Replica)
	case last.Token == row.Token && last.Token != 0 && row.Outcome != ledger.Succeeded && !c.explained(row):
		c.violation(row.Tick, "is %v, but the sink saw it finish on %s", row, last.Replica)
	}
	c.ended(row)
}

// explained reports whether a run that did all its work may have another outcome: its
// replica died before it recorded the end, or has logged that outcome itself.
func (c *checker) explained(row Row) bool {
	for _, l := range c.Incarnations {
		for _, s := range l.about(row.Tick, Ended) {
			if s.Token == row.Token {
				if c.lost(l, s) && row.Outcome == ledger.Interrupted {
					return true
				}
				return s.Outcome == row.Outcome || len(l.about(row.Tick, Unsure)) > 0
			}
		}
		for _, s := range l.about(row.Tick, Won) {
			if s.Token == row.Token { // it may have recorded that it had lost its lease, and not logged the end
				lost := row.Outcome == ledger.LeaseLost && len(l.about(row.Tick, Lost)) > 0
				return l.Killed && (row.Outcome == ledger.Interrupted || lost)
			}
		}
	}
	if c.foreign(row.Replica) {
		return true
	}
	// Killed before it could even log that it had won.
	return row.Outcome == ledger.Interrupted && slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool { return l.Replica == row.Replica && l.Killed })
}

// ended compares the row with the ends of runs that replicas have logged. The last attempt
// counts.
func (c *checker) ended(row Row) {
	for _, l := range c.Incarnations {
		unsure := len(l.about(row.Tick, Unsure)) > 0
		for _, s := range l.about(row.Tick, Ended) {
			switch {
			case s.Token != row.Token && c.lostClaim(row.Tick, s.Token):
			case s.Token == row.Token && c.lost(l, s) && row.Outcome == ledger.Interrupted:
			case !ran(row):
				c.violation(row.Tick, "is %v, but %s logged a run of it, which %s", row, l.Replica, s.Outcome)
			case s.Token > row.Token && !unsure:
				c.violation(row.Tick, "names token %d, but %s logged the end of a run with the later token %d", row.Token, l.Replica, s.Token)
			case s.Token == row.Token && (s.Outcome != row.Outcome || s.Code != row.Code && row.Code != lateEnd) && !unsure:
				c.violation(row.Tick, "is %v, but %s logged its end as %v", row, l.Replica, Row{Outcome: s.Outcome, Code: s.Code})
			}
		}
	}
}

// foreign reports whether the replica's log is unreadable.
func (c *checker) foreign(replica string) bool {
	return slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool { return l.Replica == replica && l.Foreign })
}

// mayRun reports whether a row may be running: the replica is alive, or its lease may last,
// and it has not logged the end of the run long ago.
func (c *checker) mayRun(row Row) bool {
	return slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool {
		ended := slices.ContainsFunc(l.about(row.Tick, Ended), func(s Report) bool {
			return s.Token == row.Token && s.At.Before(c.Read.Add(-c.TTL))
		})
		return l.Replica == row.Replica && !ended && (l.Until.IsZero() || c.Read.Before(l.Until.Add(c.TTL)))
	})
}

// recorded checks that the row's replica has logged the same. A row without one is computed
// from the schedule.
func (c *checker) recorded(row Row) {
	if row.Replica == "" || c.foreign(row.Replica) {
		return
	}
	var heard []Report
	for _, l := range c.Incarnations {
		if l.Replica == row.Replica {
			heard = append(heard, l.about(row.Tick, NoRun)...)
		}
	}
	if !slices.ContainsFunc(heard, func(s Report) bool { return s.Outcome == row.Outcome && s.Code == row.Code }) {
		c.violation(row.Tick, "is %v, which %s has not logged; %s", row, row.Replica, c.happened(row.Tick))
	}
}

// happened returns what the logs have of a tick.
func (c *checker) happened(t Tick) string {
	var text strings.Builder
	for _, l := range c.Incarnations {
		for _, s := range l.Reports {
			if s.key() == t.key() {
				fmt.Fprintf(&text, "%s logged at %s: %s %v; ", l.Replica, s.At.UTC().Format("15:04:05.000"), s.What, Row{Outcome: s.Outcome, Code: s.Code})
			}
		}
	}
	for _, e := range c.sink[t.key()] {
		fmt.Fprintf(&text, "the sink saw it on %s with token %d; ", e.Replica, e.Token)
	}
	return cmp.Or(text.String(), "nobody logged anything of it; ") + c.lived(t)
}

// lived lists the replicas alive at the tick.
func (c *checker) lived(t Tick) string {
	var alive []string
	for _, l := range c.Incarnations {
		if l.alive(Span{t.At, t.At}) {
			alive = append(alive, l.Replica)
		}
	}
	return "alive then: " + cmp.Or(strings.Join(alive, " "), "none")
}
