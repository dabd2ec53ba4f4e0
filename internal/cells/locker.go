package cells

import (
	"context"

	"github.com/quorate/quorate/locking"
)

// A Locker grants each lease in the cell of its name.
type Locker struct {
	Layout Layout
	// Cells are the lockers of the cells, in the order of Layout.
	Cells []locking.Locker
}

// TryAcquire implements [locking.Locker].
func (l *Locker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	return l.Cells[l.Layout.Of(req.Name)].TryAcquire(ctx, req)
}

// Watch implements [locking.Watcher]. If the cell's locker is no Watcher, the watch
// never sees an obstacle.
func (l *Locker) Watch(req locking.Request, start uint64) locking.Watch {
	if w, ok := l.Cells[l.Layout.Of(req.Name)].(locking.Watcher); ok {
		return w.Watch(req, start)
	}
	return noWatch{}
}

// noWatch never sees an obstacle.
type noWatch struct{}

// Look implements locking.Watch.
func (noWatch) Look(context.Context) error { return nil }

var _ locking.Watcher = (*Locker)(nil)
