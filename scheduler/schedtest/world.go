package schedtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// remembered is how many runs, and how many ticks without one, a Cluster keeps of each job.
const remembered = 1_000_000

// silence is how long a replica waits for nodes that do not answer.
const silence = 200 * time.Millisecond

// A world is the shared part of a Cluster: the decisions and memory of nodes, and whether
// they answer.
type world struct {
	stores scheduler.Stores
	locks  locking.Watcher // the locker of the stores

	mu     sync.Mutex
	leases map[*lease]bool // leases that have not ended
	up     chan struct{}   // closed while the nodes answer
}

func newWorld(stores scheduler.Stores) (*world, error) {
	locks, ok := stores.Locker.(locking.Watcher)
	if !ok || stores.Ledger == nil || stores.Roster == nil || stores.JobSets == nil || stores.Acts == nil || stores.Archive == nil {
		return nil, errors.New("Setup.Stores must return all stores, and its Locker must be a locking.Watcher")
	}
	w := &world{stores: stores, locks: locks, leases: map[*lease]bool{}, up: make(chan struct{})}
	close(w.up)
	return w, nil
}

// memory returns stores in memory that keep everything.
func memory() scheduler.Stores {
	locks, roster := &locktest.Memory{Keep: remembered}, new(Roster)
	entries := NewLedger(locks)
	entries.Keep = remembered
	return scheduler.Stores{
		Locker: locks, Ledger: entries, Roster: roster, JobSets: roster, Acts: new(Acts), Archive: &logs{list: map[string]ledger.Log{}},
	}
}

func (w *world) stopNodes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers() {
		w.up = make(chan struct{})
	}
}

func (w *world) startNodes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.answers() {
		close(w.up)
	}
}

// answers reports whether the nodes are up. The caller holds the mutex.
func (w *world) answers() bool {
	select {
	case <-w.up:
		return true
	default:
		return false
	}
}

// ask waits until the nodes answer, at most as long as a replica does.
func (w *world) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, silence, locking.ErrNoQuorum)
	defer cancel()
	return w.await(ctx)
}

// await waits until the nodes answer, or ctx ends.
func (w *world) await(ctx context.Context) error {
	w.mu.Lock()
	up := w.up
	w.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return errors.Join(locking.ErrNoQuorum, ctx.Err())
	}
}

// lose ends the leases of a job, and returns their number.
func (w *world) lose(job string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for l := range w.leases {
		if l.Claim().Name == job {
			l.lost.Store(true)
			n++
		}
	}
	return n
}
