package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// keepRecords is how many records of ticks that did not run a node keeps per job. Claims
// bound those of runs.
const keepRecords = 1000

// A Ledger is a [ledger.Store] and a [scheduler.Roster] on the nodes. It may
// be used by many goroutines. Every method returns locking.ErrNoQuorum, with
// what each node said, when too few nodes answered.
type Ledger struct {
	// Unreadable notes records that cannot be read.
	Unreadable *unreadable.Log

	set    *membership.Set
	keep   int           // notes per job
	lately time.Duration // how long a replica stays after its last beat
	lua    scripts
	names  *[locking.MostNodes]string // of the nodes
	list   uint32                     // tells them from others
}

// New returns the ledger that the nodes of set keep. It contacts none of them.
// The caller closes the set.
func New(set *membership.Set) *Ledger {
	l := &Ledger{set: set, keep: keepRecords, lately: scheduler.SeenLately, lua: newScripts()}
	l.list, l.names = locking.NodeList(set.Names())
	return l
}

// Record implements [ledger.Store]. Of replicas that record a tick at once that one is
// the first which the first node on the list heard first, of those that answer.
func (l *Ledger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	r := records.Record{
		Kind: records.NotRun, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey(),
		Rank: e.Rank(), Note: ledger.EncodeNote(e),
	}
	doing := "recording a tick of " + e.Job
	replies := l.set.Call(ctx, l.lua.record, []string{l.set.JobKey(e.Job, "notes")},
		r.Tick.UnixMilli(), string(r.Kind)+r.Stream+"|", r.Encode(), l.keep)
	good, err := answers(l.set, doing, replies)
	if err != nil {
		return false, err
	}
	good = slices.DeleteFunc(good, func(r membership.Reply) bool { return r.Code == "FUTURE" })
	if len(good) < l.set.Quorum() {
		return false, fmt.Errorf("%s: %w", doing, locking.ErrFuture)
	}
	return good[0].Code == "OK", nil
}

// Runs implements [ledger.Store].
func (l *Ledger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.read(ctx, q, runs)
}

// Ticks implements [ledger.Store].
func (l *Ledger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.read(ctx, q, ticks)
}

// RemembersSince implements [ledger.Rememberer].
func (l *Ledger) RemembersSince() (time.Time, bool) { return l.set.RemembersSince() }

var (
	_ ledger.Rememberer = (*Ledger)(nil)
	_ scheduler.Roster  = (*Ledger)(nil)
)
