package schedtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// kept is what a Ledger stores of a job besides its entries.
type kept struct {
	from    time.Time    // runs of earlier ticks were dropped
	trimmed time.Time    // the latest tick with a dropped entry
	logs    []ledger.Log // oldest tick first
}

// drop stores that the entries were dropped.
func (k *kept) drop(entries []ledger.Entry) {
	for _, e := range entries {
		if e.OrderKey().After(k.trimmed) {
			k.trimmed = e.OrderKey()
		}
	}
}

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h ledger.History, logs ...ledger.Log) error {
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
		k.from = k.trimmed.Add(1)
	}
	l.kept[job] = k
	l.keepNotes(job, notes, noted)
	return nil
}

func same(a, b ledger.Log) bool { return a.Token == b.Token && a.Tick.Equal(b.Tick) }

// fitting drops the oldest logs until h keeps the rest.
func fitting(logs []ledger.Log, h ledger.History, earliest time.Time) []ledger.Log {
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
