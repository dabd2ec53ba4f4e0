package schedtest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
)

// keep is how many ticks without a run a Ledger remembers per job by default.
const keep = 1000

// Ledger is a [scheduler.Ledger] in memory. Runs are those that its Memory
// granted.
type Ledger struct {
	// Keep bounds the ticks without a run that are remembered of one job; runs are
	// bounded by Store. Default 1000.
	Keep int

	locks *locktest.Memory

	mu    sync.Mutex
	ticks map[string][]scheduler.Entry // those that did not run, sorted
	kept  map[string]kept
}

// NewLedger returns a ledger over what locks grants.
func NewLedger(locks *locktest.Memory) *Ledger {
	return &Ledger{locks: locks, ticks: map[string][]scheduler.Entry{}, kept: map[string]kept{}}
}

// Record implements [scheduler.Ledger].
func (l *Ledger) Record(ctx context.Context, e scheduler.Entry) (first bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.ticks[e.Job]
	i := slices.IndexFunc(have, func(h scheduler.Entry) bool {
		return h.Stream == e.Stream && h.OrderKey().Equal(e.OrderKey())
	})
	switch {
	case i < 0:
		have = append(have, e)
	case e.Outranks(have[i]):
		have[i] = e
	}
	scheduler.SortEntries(have)
	l.keepNotes(e.Job, have, min(len(have), cmp.Or(l.Keep, keep)))
	return i < 0, nil
}

// keepNotes keeps the first n of the ticks that did not run. The caller holds the lock.
func (l *Ledger) keepNotes(job string, sorted []scheduler.Entry, n int) {
	k := l.kept[job]
	k.drop(sorted[n:])
	l.kept[job], l.ticks[job] = k, sorted[:n]
}

// Runs implements [scheduler.Ledger].
func (l *Ledger) Runs(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	runs, err := l.runs(q.Job)
	if err != nil {
		return nil, err
	}
	scheduler.SortEntries(runs)
	return selected(runs, q), nil
}

// Ticks implements [scheduler.Ledger].
func (l *Ledger) Ticks(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := l.all(q.Job)
	if err != nil {
		return nil, err
	}
	return selected(scheduler.OnePerTick(all), q), nil
}

// Skim implements [scheduler.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []scheduler.Stretch, perTick bool) ([]scheduler.Skimmed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var skimmed []scheduler.Skimmed
	for _, s := range stretches {
		all, err := l.all(s.Job)
		if err != nil {
			return nil, err
		}
		if perTick {
			all = scheduler.OnePerTick(all)
		}
		some := scheduler.SkimOf(all, s)
		l.mu.Lock()
		some.Trimmed = l.kept[s.Job].trimmed
		l.mu.Unlock()
		skimmed = append(skimmed, some)
	}
	return skimmed, nil
}

// all are runs and ticks that did not run, sorted.
func (l *Ledger) all(job string) ([]scheduler.Entry, error) {
	all, err := l.runs(job)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	for _, e := range l.ticks[job] {
		if e.OrderKey().After(l.kept[job].trimmed) {
			all = append(all, e)
		}
	}
	l.mu.Unlock()
	scheduler.SortEntries(all)
	return all, nil
}

func (l *Ledger) runs(job string) ([]scheduler.Entry, error) {
	l.mu.Lock()
	from := l.kept[job].from
	l.mu.Unlock()
	var runs []scheduler.Entry
	for _, r := range l.locks.Records(job) {
		e, err := entry(r)
		if err != nil {
			return nil, err
		}
		if !e.OrderKey().Before(from) {
			runs = append(runs, e)
		}
	}
	return runs, nil
}

func entry(r locktest.Record) (scheduler.Entry, error) {
	note := r.StartNote
	if r.Finished {
		note = r.FinishNote
	}
	e, err := scheduler.DecodeNote(note)
	if err != nil {
		return scheduler.Entry{}, err
	}
	e = e.Placed(r.Claim.Name, cmp.Or(r.Claim.Stream, locking.StreamSchedule), r.Claim.Tick)
	e.Token, e.Attempt = r.Claim.Token, r.Claim.Attempt
	if !r.Finished {
		e.Outcome = scheduler.Running
		if !r.Held {
			e.Outcome, e.Reason = scheduler.Interrupted, scheduler.Reason{Code: scheduler.CodeInterrupted}
		}
	}
	return e, nil
}

// selected cuts a sorted list down to what the query asks for.
func selected(sorted []scheduler.Entry, q scheduler.Query) []scheduler.Entry {
	sorted = slices.DeleteFunc(sorted, func(e scheduler.Entry) bool { return !q.Wants(e) })
	return sorted[:min(len(sorted), q.Limit)]
}

var (
	_ scheduler.Ledger  = (*Ledger)(nil)
	_ scheduler.Skimmer = (*Ledger)(nil)
)
