package schedtest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Replica is one process of a Cluster. It may be stopped or killed, and started again.
// Use its methods in the test's goroutine.
type Replica struct {
	c           *Cluster
	name        string
	jobs        []jobs.Job
	labels      map[string]string
	incarnation *incarnation // nil while it does not run
}

// An incarnation is a replica from its start to its end.
type incarnation struct {
	gate   *gate
	engine *scheduler.Scheduler
	alive  context.Context // ends with the incarnation
	drain  context.CancelFunc
	killed context.CancelCauseFunc
	ended  chan error
}

// seldom is the default of CommandsEvery and BeatEvery: tests simulate days.
const seldom = 10 * time.Second

// Name is the replica's id in the ledger: replica-1, replica-2 and so on.
func (r *Replica) Name() string { return r.name }

// Start starts the replica again after it was stopped or killed.
func (r *Replica) Start() {
	r.c.t.Helper()
	if r.incarnation != nil {
		r.c.t.Fatalf("%s runs already", r.name)
	}
	ctx := context.WithoutCancel(r.c.t.Context())
	alive, kill := context.WithCancelCause(ctx)
	running, drain := context.WithCancel(ctx)
	l := &incarnation{gate: newGate(r.c.world), alive: alive, drain: drain, killed: kill, ended: make(chan error, 1)}
	cfg := r.c.setup.Config
	cfg.Replica, cfg.Clock = r.name, l.gate.clock
	roster := gatedRoster{l.gate}
	cfg.Stores = scheduler.Stores{
		Locker: l.gate, Ledger: gatedLedger{l.gate}, Roster: roster, JobSets: roster,
		Commands: gatedCommands{l.gate}, Archive: gatedLogs{l.gate}, Forget: cfg.Forget,
	}
	cfg.CommandsEvery, cfg.BeatEvery = cmp.Or(cfg.CommandsEvery, seldom), cmp.Or(cfg.BeatEvery, seldom)
	if r.labels != nil {
		cfg.Labels = r.labels
	}
	var err error
	if l.engine, err = scheduler.New(cfg, r.c.served(alive, l.gate, r.jobs)); err != nil {
		drain()
		kill(nil)
		r.c.t.Fatal(err)
	}
	r.incarnation = l
	go func() { l.ended <- l.engine.Run(running) }()
}

// Stop drains the replica, as at SIGTERM, and waits until it has ended. A function that
// does not end within the drain is an error.
func (r *Replica) Stop() {
	r.c.t.Helper()
	l := r.take("stop")
	l.gate.thaw()
	l.drain()
	if err := <-l.ended; err != nil {
		r.c.t.Errorf("%s: %v", r.name, err)
	}
	l.killed(nil)
	synctest.Wait()
}

// Kill ends the replica at once, without any further effect on the cluster. Contexts of its
// functions end with cause ErrKilled; Kill waits until the functions have returned.
func (r *Replica) Kill() {
	r.c.t.Helper()
	l := r.take("kill")
	l.gate.kill()
	l.killed(ErrKilled)
	l.engine.Abort()
	l.drain() // it takes time to notice; Run waits for it in the end
	r.c.dead = append(r.c.dead, l)
	synctest.Wait()
}

// Update replaces the jobs of the replica, like a reload of its configuration. It also
// works on a stopped replica.
func (r *Replica) Update(list []jobs.Job) {
	r.c.t.Helper()
	r.jobs = list
	r.c.meet(list)
	if r.incarnation == nil {
		return
	}
	if r.incarnation.gate.frozen() {
		r.c.t.Fatalf("cannot update %s: it is frozen", r.name)
	}
	if _, err := r.incarnation.engine.Update(r.c.served(r.incarnation.alive, r.incarnation.gate, list)); err != nil {
		r.c.t.Fatal(err)
	}
	synctest.Wait()
}

// Freeze stops the process like SIGSTOP or a long pause of the machine: it sends nothing,
// and reads no clock, until Thaw. Only running functions continue, and do not learn that
// their lease has ended: like a function that was frozen just before its next step.
func (r *Replica) Freeze() {
	r.c.t.Helper()
	r.alive("freeze").gate.freeze()
}

// Thaw resumes a frozen replica.
func (r *Replica) Thaw() {
	r.c.t.Helper()
	r.alive("thaw").gate.thaw()
	synctest.Wait()
}

// alive returns the current incarnation.
func (r *Replica) alive(what string) *incarnation {
	r.c.t.Helper()
	if r.incarnation == nil {
		r.c.t.Fatalf("cannot %s %s: it does not run", what, r.name)
	}
	return r.incarnation
}

// take ends the current incarnation for the cluster.
func (r *Replica) take(what string) *incarnation {
	r.c.t.Helper()
	l := r.alive(what)
	r.incarnation = nil
	return l
}

// served returns the jobs as a replica serves them.
func (c *Cluster) served(alive context.Context, g *gate, all []jobs.Job) []jobs.Job {
	list := make([]jobs.Job, len(all))
	for i, j := range all {
		j.Handler = c.behind(alive, g, j.Handler)
		if bind := j.Bind; bind != nil {
			j.Bind = func(params map[string]any) (jobs.Handler, error) {
				fn, err := bind(params)
				return c.behind(alive, g, fn), err
			}
		}
		list[i] = j
	}
	return list
}

// behind is a job's function, or its replacement, behind a gate.
func (c *Cluster) behind(alive context.Context, g *gate, own jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		g.pass()
		ctx, end := gatedContext(ctx, alive, g)
		defer end()
		c.begun(run)
		return c.function(run.Job, own)(ctx, run)
	}
}

// gatedContext returns a context that ends with ctx, but not while the process is frozen;
// it ends at once when the process is killed.
func gatedContext(ctx, alive context.Context, g *gate) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	heard := context.AfterFunc(ctx, func() {
		g.pass()
		if !g.dead.Load() {
			cancel(context.Cause(ctx))
		}
	})
	died := context.AfterFunc(alive, func() { cancel(context.Cause(alive)) })
	return inner, func() {
		heard()
		died()
		cancel(nil)
		g.pass() // a frozen process does not learn how its function ended
	}
}

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
	if !ok || stores.Ledger == nil || stores.Roster == nil || stores.JobSets == nil || stores.Commands == nil || stores.Archive == nil {
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
		Locker: locks, Ledger: entries, Roster: roster, JobSets: roster, Commands: new(Commands), Archive: &logs{list: map[string]ledger.Log{}},
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
