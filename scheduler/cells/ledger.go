package cells

import (
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A Store is what a cell keeps of its jobs.
type Store interface {
	scheduler.Ledger
	scheduler.Archive
	scheduler.Skimmer
}

// A Ledger keeps what became of a tick, and what runs logged, in the cell of the
// job.
type Ledger struct {
	Layout Layout
	// Cells are the ledgers of the cells, in the order of Layout.
	Cells []Store
}

func (l *Ledger) of(job string) Store { return l.Cells[l.Layout.Of(job)] }

// Record implements [scheduler.Ledger].
func (l *Ledger) Record(ctx context.Context, e scheduler.Entry) (first bool, err error) {
	return l.of(e.Job).Record(ctx, e)
}

// Runs implements [scheduler.Ledger].
func (l *Ledger) Runs(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
	return l.of(q.Job).Runs(ctx, q)
}

// Ticks implements [scheduler.Ledger].
func (l *Ledger) Ticks(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
	return l.of(q.Job).Ticks(ctx, q)
}

// Skim implements [scheduler.Skimmer]: all cells are asked at once. With a
// *scheduler.PartialError nothing is known of the jobs of some.
func (l *Ledger) Skim(ctx context.Context, stretches []scheduler.Stretch, perTick bool) ([]scheduler.Skimmed, error) {
	parts, places := make([][]scheduler.Stretch, len(l.Cells)), make([][]int, len(l.Cells))
	for i, s := range stretches {
		cell := l.Layout.Of(s.Job)
		parts[cell], places[cell] = append(parts[cell], s), append(places[cell], i)
	}
	all, errs := make([]scheduler.Skimmed, len(stretches)), make([]error, len(l.Cells))
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
	return all, judge(l.Layout, errs)
}

// Store implements [scheduler.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h scheduler.History, logs ...scheduler.Log) error {
	return l.of(job).Store(ctx, job, h, logs...)
}

// Log implements [scheduler.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (scheduler.Log, error) {
	return l.of(job).Log(ctx, job, tick, token)
}

// RemembersSince implements [scheduler.Rememberer].
func (l *Ledger) RemembersSince(key string) (time.Time, bool) {
	if r, ok := l.of(key).(scheduler.Rememberer); ok {
		return r.RemembersSince(key)
	}
	return time.Time{}, false
}

// Parts implements [scheduler.Divided].
func (l *Ledger) Parts() int { return len(l.Cells) }

// Part implements [scheduler.Divided].
func (l *Ledger) Part(key string) int { return l.Layout.Of(key) }

var (
	_ scheduler.Divided    = (*Ledger)(nil)
	_ scheduler.Rememberer = (*Ledger)(nil)
	_ scheduler.Archive    = (*Ledger)(nil)
	_ scheduler.Skimmer    = (*Ledger)(nil)
)
