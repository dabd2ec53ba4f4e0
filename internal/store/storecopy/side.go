package storecopy

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Side is a store to copy from or to. Each call but Begin that writes needs a Begin before.
type Side interface {
	// Name tells people which store it is.
	Name() string
	Reader() view.Reader
	Holders(context.Context) ([]locking.Holding, error)
	// Memory fails if a copy to the store has not finished.
	Memory(context.Context) (Memory, error)

	// Begin closes the store for replicas, and returns its clock. The error matches
	// ErrNotEmpty if the store has something.
	Begin(context.Context) (time.Time, error)
	// PutEntries is called once for each job. Entries of ticks up to trimmed are missing.
	PutEntries(ctx context.Context, job string, list []ledger.Entry, trimmed time.Time) error
	// PutActs stores acts, which are in the order of their times.
	PutActs(ctx context.Context, list []acts.Act) error
	// End stores the claims, and opens the store for replicas. It fails if the store has lost a
	// write.
	End(context.Context, Memory) error
}

// ErrNotEmpty is returned by Side.Begin.
var ErrNotEmpty = errors.New("the store is not empty")

// A Memory is what a store knows of the claims of all names.
type Memory struct {
	// Claims are the latest of each stream of each name, sorted. Done means that no replica
	// may run the tick again.
	Claims []locking.Holding
	// Fence is the largest token of all names, also of forgotten ones. Tick is the latest
	// tick of the forgotten names, in milliseconds.
	Fence uint64
	Tick  int64
	// Queued counts requests of applications that are not acts yet.
	Queued int
	// Floor is the time in milliseconds up to which the store may have forgotten claims; 0: none.
	Floor int64
}

// latest is the time of the largest token.
func (m Memory) latest() time.Time { return time.Unix(int64(m.Fence>>20), 0) }

// Since is the Since of a store with the given grace that has forgotten as much.
func (m Memory) Since(grace time.Duration) int64 {
	if m.Floor == 0 {
		return 0
	}
	return max(1, m.Floor-grace.Milliseconds())
}
