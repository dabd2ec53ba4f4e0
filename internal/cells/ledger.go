package cells

import (
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Store is the ledger of one cell.
type Store interface {
	ledger.Store
	ledger.Archive
	ledger.Skimmer
}

// A Ledger keeps the outcomes of ticks and the logs of runs in the cell of the job.
type Ledger struct {
	Layout Layout
	// Cells are the ledgers of the cells, in the order of Layout.
	Cells []Store
}

func (l *Ledger) of(job string) Store { return l.Cells[l.Layout.Of(job)] }

// Record implements [ledger.Store].
func (l *Ledger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	return l.of(e.Job).Record(ctx, e)
}

// Runs implements [ledger.Store].
func (l *Ledger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.of(q.Job).Runs(ctx, q)
}

// Ticks implements [ledger.Store].
func (l *Ledger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.of(q.Job).Ticks(ctx, q)
}

// Skim implements [ledger.Skimmer]: it asks all cells at once. With a
// *ledger.PartialError it knows nothing of the jobs of some cells.
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	parts, places := make([][]ledger.Stretch, len(l.Cells)), make([][]int, len(l.Cells))
	for i, s := range stretches {
		cell := l.Layout.Of(s.Job)
		parts[cell], places[cell] = append(parts[cell], s), append(places[cell], i)
	}
	all, errs := make([]ledger.Skimmed, len(stretches)), make([]error, len(l.Cells))
	var asking sync.WaitGroup
	for cell, part := range parts {
		if len(part) == 0 {
			continue
		}
		asking.Go(func() {
			some, err := l.Cells[cell].Skim(ctx, part, perTick)
			errs[cell] = err
			for i, one := range some {
				all[places[cell][i]] = one
			}
		})
	}
	asking.Wait()
	return all, joinErrors(l.Layout, errs)
}

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h ledger.History, logs ...ledger.Log) error {
	return l.of(job).Store(ctx, job, h, logs...)
}

// Log implements [ledger.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	return l.of(job).Log(ctx, job, tick, token)
}

// RemembersSince implements [ledger.Rememberer].
func (l *Ledger) RemembersSince(key string) (time.Time, bool) {
	if r, ok := l.of(key).(ledger.Rememberer); ok {
		return r.RemembersSince(key)
	}
	return time.Time{}, false
}

// Parts implements [ledger.Divided].
func (l *Ledger) Parts() int { return len(l.Cells) }

// Part implements [ledger.Divided].
func (l *Ledger) Part(key string) int { return l.Layout.Of(key) }

var (
	_ ledger.Divided    = (*Ledger)(nil)
	_ ledger.Rememberer = (*Ledger)(nil)
	_ ledger.Archive    = (*Ledger)(nil)
	_ ledger.Skimmer    = (*Ledger)(nil)
)
