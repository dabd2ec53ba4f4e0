package schedtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// ErrKilled is the cause when the contexts of a killed replica's functions end. A dead
// process ends its functions; here they must return, and do nothing more.
var ErrKilled = errors.New("schedtest: the replica was killed")

// A gate is between one incarnation of a replica and the world. It is open, closed while the
// process is frozen, and leads nowhere once the process is dead.
type gate struct {
	*world
	dead atomic.Bool

	mu   sync.Mutex
	open chan struct{} // closed while the process is not frozen
}

func newGate(w *world) *gate {
	g := &gate{world: w, open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) freeze() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

func (g *gate) frozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		return false
	default:
		return true
	}
}

func (g *gate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) kill() {
	g.dead.Store(true)
	g.thaw()
}

// pass waits while the process is frozen.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

// through passes a message to the nodes, if they answer and the process is alive.
func (g *gate) through(ctx context.Context) error { return g.send(ctx, g.ask) }

// send passes a message once answered has returned, unless the process has died by then.
func (g *gate) send(ctx context.Context, answered func(context.Context) error) error {
	g.pass()
	err := answered(ctx)
	g.pass()
	if g.dead.Load() {
		return errors.Join(locking.ErrNoQuorum, ErrKilled)
	}
	return err
}

// clock is the wall clock of the process.
func (g *gate) clock() time.Time {
	g.pass()
	return time.Now().Round(0)
}

// TryAcquire implements [locking.Locker].
func (g *gate) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if err := g.through(ctx); err != nil {
		return nil, errors.Join(&locking.AcquireError{
			Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1},
		}, ctx.Err())
	}
	inner, err := g.locks.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	l := &lease{Lease: inner, gate: g}
	g.world.mu.Lock()
	g.leases[l] = true
	g.world.mu.Unlock()
	return l, nil
}

// Watch implements [locking.Watcher].
func (g *gate) Watch(req locking.Request, start uint64) locking.Watch {
	return gatedWatch{g.locks.Watch(req, start), g}
}

// A gatedWatch is a Watch behind a gate.
type gatedWatch struct {
	locking.Watch
	*gate
}

func (w gatedWatch) Look(ctx context.Context) error {
	if err := w.through(ctx); err != nil {
		return &locking.AcquireError{Reason: locking.ErrSilent, Votes: locking.Votes{Of: 1}}
	}
	return w.Watch.Look(ctx)
}

// A lease is a lease behind a gate.
type lease struct {
	locking.Lease
	*gate
	lost atomic.Bool
}

func (l *lease) Extend(ctx context.Context) error {
	if err := l.through(ctx); err != nil {
		return err
	}
	if l.lost.Load() {
		return locking.ErrLeaseLost
	}
	return l.Lease.Extend(ctx)
}

// Release tries again while ctx lasts, as the real one does.
func (l *lease) Release(ctx context.Context, note []byte) error {
	return l.end(ctx, func() error { return l.Lease.Release(ctx, note) })
}

// HandOver does so, too.
func (l *lease) HandOver(ctx context.Context, note []byte) error {
	return l.end(ctx, func() error { return l.Lease.HandOver(ctx, note) })
}

func (l *lease) end(ctx context.Context, how func() error) error {
	defer l.forget()
	if err := l.send(ctx, l.await); err != nil {
		return err
	}
	err := how()
	if l.lost.Load() {
		return locking.ErrLeaseLost
	}
	return err
}

func (l *lease) Void(ctx context.Context) error {
	defer l.forget()
	if err := l.through(ctx); err != nil {
		return err
	}
	return l.Lease.Void(ctx)
}

func (l *lease) forget() {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	delete(l.leases, l)
}

// A gatedLedger is the ledger behind a gate.
type gatedLedger struct{ *gate }

func (g gatedLedger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if err := g.through(ctx); err != nil {
		return false, err
	}
	return g.stores.Ledger.Record(ctx, e)
}

func (g gatedLedger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Ledger.Runs(ctx, q)
}

func (g gatedLedger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Ledger.Ticks(ctx, q)
}

// A gatedRoster is the roster behind a gate.
type gatedRoster struct{ *gate }

func (g gatedRoster) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Roster.Beat(ctx, self)
}

func (g gatedRoster) Leave(ctx context.Context, self roster.Replica) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Roster.Leave(ctx, self)
}

func (g gatedRoster) Replicas(ctx context.Context) ([]roster.Replica, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Roster.Replicas(ctx)
}

func (g gatedRoster) Publish(ctx context.Context, list []roster.JobInfo) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Roster.Publish(ctx, list)
}

func (g gatedRoster) Unpublish(ctx context.Context, list []roster.JobInfo) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Roster.Unpublish(ctx, list)
}

func (g gatedRoster) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Roster.Jobs(ctx)
}

func (g gatedRoster) RenewSet(ctx context.Context, hash string) (bool, error) {
	if err := g.through(ctx); err != nil {
		return false, err
	}
	return g.stores.JobSets.RenewSet(ctx, hash)
}

func (g gatedRoster) KeepSet(ctx context.Context, hash string, packed []byte) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.JobSets.KeepSet(ctx, hash, packed)
}

func (g gatedRoster) JobSet(ctx context.Context, hash string) ([]byte, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.JobSets.JobSet(ctx, hash)
}
