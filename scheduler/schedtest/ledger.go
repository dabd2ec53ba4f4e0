package schedtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
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
		gone := l.kept[s.Job].Skimmed
		l.mu.Unlock()
		gone.Entries, gone.Rest = some.Entries, some.Rest
		skimmed = append(skimmed, gone)
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
		if e.OrderKey().After(l.kept[job].Trimmed) {
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

// kept is what a Ledger stores of a job besides its entries.
type kept struct {
	from           time.Time    // runs of earlier ticks were dropped
	ledger.Skimmed              // what is known of dropped entries, without others
	logs           []ledger.Log // oldest tick first
}

// drop stores that the entries were dropped.
func (k *kept) drop(entries []ledger.Entry) {
	for _, e := range entries {
		at := e.OrderKey()
		k.Trimmed = newer(k.Trimmed, at, true)
		k.TrimmedSuccess = newer(k.TrimmedSuccess, at, e.Outcome == ledger.Succeeded)
		k.TrimmedFailure = newer(k.TrimmedFailure, at, e.Outcome.Failure())
	}
}

// newer returns the later time, if at counts.
func newer(known, at time.Time, counts bool) time.Time {
	if counts && at.After(known) {
		return at
	}
	return known
}

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h jobs.History, logs ...ledger.Log) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h = h.WithDefaults()
	runs, err := l.runs(job)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[job]
	for _, log := range logs {
		k.logs = slices.DeleteFunc(k.logs, func(have ledger.Log) bool { return same(have, log) })
		k.logs = append(k.logs, log)
	}
	slices.SortFunc(k.logs, func(a, b ledger.Log) int {
		return cmp.Or(a.Tick.Compare(b.Tick), cmp.Compare(a.Token, b.Token))
	})
	var earliest time.Time
	if h.MaxAge > 0 {
		earliest = time.Now().Add(-h.MaxAge)
	}
	k.logs = fitting(k.logs, h, earliest)
	ledger.Sort(runs)
	notes := l.ticks[job]
	ran, noted := fittingEntries(runs, h.Keep, earliest), fittingEntries(notes, h.Keep, earliest)
	switch {
	case ran+noted > 0: // some are young enough
	case len(runs) > 0:
		ran = 1
	default:
		noted = min(len(notes), 1)
	}
	k.drop(runs[ran:])
	switch {
	case ran > 0:
		k.from = runs[ran-1].OrderKey()
	case len(runs) > 0:
		k.from = k.Trimmed.Add(1)
	}
	l.kept[job] = k
	l.keepNotes(job, notes, noted)
	return nil
}

func same(a, b ledger.Log) bool { return a.Token == b.Token && a.Tick.Equal(b.Tick) }

// fitting drops the oldest logs until h keeps the rest.
func fitting(logs []ledger.Log, h jobs.History, earliest time.Time) []ledger.Log {
	bytes := 0
	for i, log := range slices.Backward(logs) {
		bytes += len(log.Text)
		if len(logs)-i > h.Keep || bytes > h.MaxBytes || log.Tick.Before(earliest) {
			return slices.Clone(logs[i+1:])
		}
	}
	return logs
}

// fittingEntries is how many of the sorted entries h keeps by number and age.
func fittingEntries(sorted []ledger.Entry, keep int, earliest time.Time) int {
	sorted = sorted[:min(len(sorted), keep)]
	if old := slices.IndexFunc(sorted, func(e ledger.Entry) bool { return e.OrderKey().Before(earliest) }); old >= 0 {
		return old
	}
	return len(sorted)
}

// Log implements [ledger.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	if err := ctx.Err(); err != nil {
		return ledger.Log{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range l.kept[job].logs {
		if same(log, ledger.Log{Tick: tick, Token: token}) {
			return log, nil
		}
	}
	return ledger.Log{}, ledger.ErrNoLog
}

var _ ledger.Archive = (*Ledger)(nil)

// logs are an archive in memory. It keeps everything, despite a job's history.
type logs struct {
	mu   sync.Mutex
	list map[string]ledger.Log // by job and token
}

func (l *logs) Store(_ context.Context, _ string, _ jobs.History, list ...ledger.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range list {
		l.list[logName(log.Job, log.Token)] = log
	}
	return nil
}

func (l *logs) Log(_ context.Context, job string, _ time.Time, token locking.Token) (ledger.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log, ok := l.list[logName(job, token)]; ok {
		return log, nil
	}
	return ledger.Log{}, ledger.ErrNoLog
}

func logName(job string, token locking.Token) string { return fmt.Sprint(job, " ", token) }

// gatedLogs are an archive behind a gate.
type gatedLogs struct{ *gate }

func (g gatedLogs) Store(ctx context.Context, job string, h jobs.History, list ...ledger.Log) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Archive.Store(ctx, job, h, list...)
}

func (g gatedLogs) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	if err := g.through(ctx); err != nil {
		return ledger.Log{}, err
	}
	return g.stores.Archive.Log(ctx, job, tick, token)
}

// Log returns the log that a run wrote with its Run.Logger, in lines as slog.TextHandler
// writes them; the run is one of Runs or Ticks.
func (c *Cluster) Log(run ledger.Entry) string {
	c.t.Helper()
	log, err := c.world.stores.Archive.Log(context.WithoutCancel(c.t.Context()), run.Job, run.OrderKey(), run.Token)
	if err != nil && !errors.Is(err, ledger.ErrNoLog) {
		c.t.Fatal(err)
	}
	return log.Text
}
