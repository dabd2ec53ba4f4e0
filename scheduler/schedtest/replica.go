package schedtest

import (
	"cmp"
	"context"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// A Replica is one process of a Cluster. It may be stopped or killed, and
// started again. Its methods are for the goroutine of the test.
type Replica struct {
	c      *Cluster
	name   string
	jobs   []scheduler.Job
	labels map[string]string
	life   *life // nil while it does not run
}

// A life is a replica from its start to its end.
type life struct {
	gate   *gate
	engine *scheduler.Scheduler
	alive  context.Context // ends with the life
	drain  context.CancelFunc
	killed context.CancelCauseFunc
	ended  chan error
}

// seldom is how often replicas look at acts and at the roster, if the test does
// not say: a test has days to pass.
const seldom = 10 * time.Second

// Name is the replica's id in the ledger: replica-1, replica-2 and so on.
func (r *Replica) Name() string { return r.name }

// Start starts the replica again after it was stopped or killed.
func (r *Replica) Start() {
	r.c.t.Helper()
	if r.life != nil {
		r.c.t.Fatalf("%s runs already", r.name)
	}
	ctx := context.WithoutCancel(r.c.t.Context())
	alive, kill := context.WithCancelCause(ctx)
	running, drain := context.WithCancel(ctx)
	l := &life{gate: newGate(r.c.world), alive: alive, drain: drain, killed: kill, ended: make(chan error, 1)}
	cfg := r.c.setup.Config
	cfg.Replica, cfg.Clock = r.name, l.gate.clock
	roster := gatedRoster{l.gate}
	cfg.Locker, cfg.Ledger, cfg.Roster, cfg.JobSets = l.gate, gatedLedger{l.gate}, roster, roster
	cfg.ActsEvery, cfg.BeatEvery = cmp.Or(cfg.ActsEvery, seldom), cmp.Or(cfg.BeatEvery, seldom)
	cfg.Archive, cfg.Acts = gatedLogs{l.gate}, gatedActs{l.gate}
	if r.labels != nil {
		cfg.Labels = r.labels
	}
	var err error
	if l.engine, err = scheduler.New(cfg, r.c.served(alive, l.gate, r.jobs)); err != nil {
		drain()
		kill(nil)
		r.c.t.Fatal(err)
	}
	r.life = l
	go func() { l.ended <- l.engine.Run(running) }()
}

// Stop lets the replica drain, as at SIGTERM, and waits until it has ended. A
// function that does not end within the drain is an error.
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

// Kill ends the replica at once: nothing more that it does has an effect on the
// cluster. Contexts of functions that it runs end with cause ErrKilled; Kill
// waits until they have returned.
func (r *Replica) Kill() {
	r.c.t.Helper()
	l := r.take("kill")
	l.gate.kill()
	l.killed(ErrKilled)
	l.engine.Abort()
	l.drain() // it takes its time to notice; Run waits for it in the end
	r.c.dead = append(r.c.dead, l)
	synctest.Wait()
}

// Update replaces the jobs that the replica serves, as a reload of its
// configuration does; also if it is stopped now and started later.
func (r *Replica) Update(list []scheduler.Job) {
	r.c.t.Helper()
	r.jobs = list
	r.c.meet(list)
	if r.life == nil {
		return
	}
	if r.life.gate.frozen() {
		r.c.t.Fatalf("cannot update %s: it is frozen", r.name)
	}
	if _, err := r.life.engine.Update(r.c.served(r.life.alive, r.life.gate, list)); err != nil {
		r.c.t.Fatal(err)
	}
	synctest.Wait()
}

// Freeze stops the process as SIGSTOP or a long pause of the machine would: it
// sends nothing, and looks at no clock, until Thaw. Only functions that run go
// on, and do not hear meanwhile that their lease has gone: as one does that was
// frozen just before its next step.
func (r *Replica) Freeze() {
	r.c.t.Helper()
	r.alive("freeze").gate.freeze()
}

// Thaw lets a frozen replica go on.
func (r *Replica) Thaw() {
	r.c.t.Helper()
	r.alive("thaw").gate.thaw()
	synctest.Wait()
}

// alive returns the present life.
func (r *Replica) alive(what string) *life {
	r.c.t.Helper()
	if r.life == nil {
		r.c.t.Fatalf("cannot %s %s: it does not run", what, r.name)
	}
	return r.life
}

// take ends the present life for the cluster.
func (r *Replica) take(what string) *life {
	r.c.t.Helper()
	l := r.alive(what)
	r.life = nil
	return l
}

// served is jobs as a replica serves them.
func (c *Cluster) served(alive context.Context, g *gate, all []scheduler.Job) []scheduler.Job {
	list := make([]scheduler.Job, len(all))
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

// behind is a job's function, or what the test put in its place, behind a gate.
func (c *Cluster) behind(alive context.Context, g *gate, own jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		g.pass()
		ctx, end := told(ctx, alive, g)
		defer end()
		c.begun(run)
		return c.function(run.Job, own)(ctx, run)
	}
}

// told returns a context that ends as ctx does, but not while the process is
// frozen; and at once when it is killed.
func told(ctx, alive context.Context, g *gate) (context.Context, func()) {
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
		g.pass() // a frozen process does not get to hear how its function ended
	}
}
