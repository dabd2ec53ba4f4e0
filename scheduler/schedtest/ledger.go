package schedtest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// keep is the default of Ledger.Keep.
const keep = 1000

// Ledger is a [ledger.Store] in memory. Runs are those that its Memory
// granted.
type Ledger struct {
	// Keep bounds the stored ticks of a job without a run; Store bounds runs. Default 1000.
	Keep int

	locks *locktest.Memory

	mu    sync.Mutex
	ticks map[string][]ledger.Entry // those that did not run, sorted
	kept  map[string]kept
}

// NewLedger returns a ledger over the claims of locks.
func NewLedger(locks *locktest.Memory) *Ledger {
	return &Ledger{locks: locks, ticks: map[string][]ledger.Entry{}, kept: map[string]kept{}}
}

// Record implements [ledger.Store].
func (l *Ledger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.ticks[e.Job]
	i := slices.IndexFunc(have, func(h ledger.Entry) bool {
		return h.Stream == e.Stream && h.OrderKey().Equal(e.OrderKey())
	})
	switch {
	case i < 0:
		have = append(have, e)
	case outranks(e, have[i]):
		have[i] = e
	}
	ledger.Sort(have)
	l.keepNotes(e.Job, have, min(len(have), cmp.Or(l.Keep, keep)))
	return i < 0, nil
}

// outranks reports whether e replaces other as the record of a tick without a run.
func outranks(e, other ledger.Entry) bool {
	if x, y := e.Rank(), other.Rank(); x != y {
		return x > y
	}
	return bytes.Compare(ledger.EncodeNote(e), ledger.EncodeNote(other)) > 0
}

// keepNotes keeps the first n ticks without a run. The caller holds the lock.
func (l *Ledger) keepNotes(job string, sorted []ledger.Entry, n int) {
	k := l.kept[job]
	k.drop(sorted[n:])
	l.kept[job], l.ticks[job] = k, sorted[:n]
}

// Runs implements [ledger.Store].
func (l *Ledger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	runs, err := l.runs(q.Job)
	if err != nil {
		return nil, err
	}
	ledger.Sort(runs)
	return selected(runs, q), nil
}

// Ticks implements [ledger.Store].
func (l *Ledger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := l.all(q.Job)
	if err != nil {
		return nil, err
	}
	return selected(ledger.OnePerTick(all), q), nil
}

// Skim implements [ledger.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var skimmed []ledger.Skimmed
	for _, s := range stretches {
		all, err := l.all(s.Job)
		if err != nil {
			return nil, err
		}
		if perTick {
			all = ledger.OnePerTick(all)
		}
		some := cut(all, s)
		l.mu.Lock()
		some.Trimmed = l.kept[s.Job].trimmed
		l.mu.Unlock()
		skimmed = append(skimmed, some)
	}
	return skimmed, nil
}

// Search implements [ledger.Skimmer].
func (l *Ledger) Search(ctx context.Context, stretches []ledger.Stretch) ([]ledger.Skimmed, error) {
	ask := slices.Clone(stretches)
	for i := range ask {
		ask[i].Limit *= ledger.LookedAt
	}
	found, err := l.Skim(ctx, ask, true)
	for i := range found {
		found[i] = found[i].Searched(stretches[i].Limit)
	}
	return found, err
}

// cut returns the stretch of its job's entries, sorted newest first.
func cut(sorted []ledger.Entry, s ledger.Stretch) ledger.Skimmed {
	var some ledger.Skimmed
	for _, e := range sorted {
		key := e.OrderKey()
		if !s.NotAfter.IsZero() && key.After(s.NotAfter) {
			continue
		}
		if len(some.Entries) == s.Limit || key.Before(s.Since) {
			some.Rest = key
			break
		}
		some.Entries = append(some.Entries, e)
	}
	for n := len(some.Entries); n > 0 && !some.Rest.IsZero() && !some.Entries[n-1].OrderKey().After(some.Rest); n-- {
		some.Entries = some.Entries[:n-1]
	}
	return some
}

// all returns runs and ticks without a run, sorted.
func (l *Ledger) all(job string) ([]ledger.Entry, error) {
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
	ledger.Sort(all)
	return all, nil
}

func (l *Ledger) runs(job string) ([]ledger.Entry, error) {
	l.mu.Lock()
	from := l.kept[job].from
	l.mu.Unlock()
	var runs []ledger.Entry
	for _, r := range l.locks.Records(job) {
		e, err := entry(r)
		if err != nil {
			return nil, err
		}
		if !e.OrderKey().Before(from) {
			runs = append(runs, e)
		}
	}
	ledger.CountAttempts(runs)
	return runs, nil
}

func entry(r locktest.Record) (ledger.Entry, error) {
	note := r.StartNote
	if r.Finished {
		note = r.FinishNote
	}
	e, err := ledger.DecodeNote(note)
	if err != nil {
		return ledger.Entry{}, err
	}
	e = e.Placed(r.Claim.Name, cmp.Or(r.Claim.Stream, locking.StreamSchedule), r.Claim.Tick)
	e.Token = r.Claim.Token
	if !r.Finished {
		e.Outcome = ledger.Running
		if !r.Held {
			e.Outcome, e.Reason = ledger.Interrupted, ledger.Reason{Code: ledger.CodeInterrupted}
		}
	}
	return e, nil
}

// selected applies a query to a sorted list.
func selected(sorted []ledger.Entry, q ledger.Query) []ledger.Entry {
	sorted = slices.DeleteFunc(sorted, func(e ledger.Entry) bool { return !q.Wants(e) })
	return sorted[:min(len(sorted), q.Limit)]
}

var (
	_ ledger.Store   = (*Ledger)(nil)
	_ ledger.Skimmer = (*Ledger)(nil)
)
