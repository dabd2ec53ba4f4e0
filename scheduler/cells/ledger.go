package cells

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A Store is what a cell keeps of its jobs.
type Store interface {
	scheduler.Ledger
	scheduler.Archive
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
func (l *Ledger) Record(ctx context.Context, e scheduler.Entry) error {
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

// Store implements [scheduler.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h scheduler.History, logs ...scheduler.Log) error {
	return l.of(job).Store(ctx, job, h, logs...)
}

// Log implements [scheduler.Archive].
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (scheduler.Log, error) {
	return l.of(job).Log(ctx, job, tick, token)
}

// Parts implements [scheduler.Divided].
func (l *Ledger) Parts() int { return len(l.Cells) }

// Part implements [scheduler.Divided].
func (l *Ledger) Part(key string) int { return l.Layout.Of(key) }

var (
	_ scheduler.Divided = (*Ledger)(nil)
	_ scheduler.Archive = (*Ledger)(nil)
)
