package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A Record is everything known of a campaign at its end.
type Record struct {
	Ticks        []Tick   // all due ticks of the span, of all jobs
	Rows         []Row    // the ledger, also of ticks outside the span
	Sink         []Effect // what the jobs did, in order
	Incarnations []Incarnation
	// Forgot: nodes lost so much memory that a run may have no record any more.
	Forgot bool
	// Promoted: a standby became primary, so of older ticks without a record the ledger says
	// that history may be lost. Lost are the spans whose commits such a standby lacked.
	Promoted bool
	Lost     []Span
	// Clockless: the store has no clock. A lease whose holder is gone lasts for a TTL from when
	// another replica has first seen it.
	Clockless bool
	// Uncopied: the store holds leases that do not count, since its replicas lack them, so
	// their holders do not know of them.
	Uncopied bool
	// Thawed: when a frozen quorum continued. Such nodes may take a claim that its replica
	// has given up, and then hold the job's lease for a TTL.
	Thawed []time.Time
	Read   time.Time     // when the rows were read
	TTL    time.Duration // of a lease
	// Window is how long a tick can be claimed. A replica that was alive during all of it
	// has decided the tick.
	Window time.Duration
}

// A Tick is one instant of a job's schedule.
type Tick struct {
	Job string
	At  time.Time
}

func (t Tick) String() string { return t.Job + " " + t.At.UTC().Format("15:04:05.999") }

// key makes ticks from different sources comparable.
func (t Tick) key() Tick { return Tick{t.Job, t.At.UTC()} }

// A Row is the ledger's entry of a tick.
type Row struct {
	Tick
	Outcome ledger.Outcome
	Code    string // of the reason
	Token   uint64
	Replica string // that ran it, or recorded that it did not run
	Started time.Time
}

func (r Row) String() string {
	if r.Code == "" {
		return string(r.Outcome)
	}
	return fmt.Sprintf("%s (%s)", r.Outcome, r.Code)
}

// An Effect is what the sink saw of one run.
type Effect struct {
	Tick
	Token    uint64
	Replica  string
	Finished bool // the job has done all its work; else it has begun
}

// An Incarnation is one process of a replica, from ready to its end.
type Incarnation struct {
	Replica string
	From    time.Time // also for one that waits until nodes vouch
	Drained time.Time // when it began to drain; zero: it did not
	Until   time.Time // zero: it is alive
	Killed  bool      // it ended without a drain
	Frozen  []Span
	Reports []Report // what it logged of ticks
	// Renamed has the new name of each job that it has renamed.
	Renamed map[string]string
	// Foreign: a process of another release with unknown messages.
	Foreign bool
}

// A Span is a time span, both ends included.
type Span struct{ From, To time.Time }

// A Report is a log message of a replica on a tick.
type Report struct {
	Tick
	What    What
	At      time.Time
	Token   uint64
	Outcome ledger.Outcome
	Code    string
}

// What is the kind of a Report.
type What string

// The kinds of reports.
const (
	Won      What = "won"      // it has claimed the tick
	Lost     What = "lost"     // its run has lost its lease
	Ended    What = "ended"    // its run has ended, with Outcome
	Unsure   What = "unsure"   // the ledger may not have the end of its run
	NoRun    What = "no run"   // the tick does not run here, with Outcome and Code
	Unstored What = "unstored" // the ledger may not have this record
)

// ready reports whether the incarnation could decide ticks during the whole span.
func (l Incarnation) ready(s Span) bool {
	if l.From.IsZero() || l.From.After(s.From) {
		return false
	}
	for _, end := range []time.Time{l.Drained, l.Until} {
		if !end.IsZero() && end.Before(s.To) {
			return false
		}
	}
	for _, f := range l.Frozen {
		if !f.From.After(s.To) && !f.To.Before(s.From) {
			return false
		}
	}
	return true
}

// alive reports whether the process existed, ready or not, at some time in the span.
func (l Incarnation) alive(s Span) bool {
	return !l.From.IsZero() && !l.From.After(s.To) && (l.Until.IsZero() || !l.Until.Before(s.From))
}

// renamed returns the record with the new names of renamed jobs, as in Rows.
func (r Record) renamed() Record {
	names := map[string]string{}
	for _, l := range r.Incarnations {
		maps.Copy(names, l.Renamed)
	}
	r.Sink, r.Incarnations = slices.Clone(r.Sink), slices.Clone(r.Incarnations)
	for i, e := range r.Sink {
		r.Sink[i].Job = cmp.Or(names[e.Job], e.Job)
	}
	for i, l := range r.Incarnations {
		r.Incarnations[i].Reports = slices.Clone(l.Reports)
		for j, s := range l.Reports {
			r.Incarnations[i].Reports[j].Job = cmp.Or(names[s.Job], s.Job)
		}
	}
	return r
}

// about returns the reports of a kind on the tick.
func (l Incarnation) about(t Tick, what What) []Report {
	var list []Report
	for _, s := range l.Reports {
		if s.What == what && s.key() == t.key() {
			list = append(list, s)
		}
	}
	return list
}
