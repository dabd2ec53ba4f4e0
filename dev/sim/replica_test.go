package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// An incarnation is one incarnation of a replica, from its start to its death or its drain.
type incarnation struct {
	*client
	cluster *cluster
	version int // that it began with
	stop    context.CancelFunc
	ended   chan struct{}
	ready   chan *scheduler.Scheduler // takes the one that runs

	// Once it has ended:
	versions []version
	left     bool // it drained, and recorded what it knew
	err      error
}

// A version of the configuration that an incarnation has served, by its clock.
type version struct {
	number      int
	from, until time.Time // until the end if zero
}

// start begins an incarnation. Its clock is that of its machine.
func (c *cluster) start(index, number, version int, clock *sim.Clock) *incarnation {
	process := c.world.NewProcess("r"+strconv.Itoa(index)+"."+strconv.Itoa(number), clock)
	ctx, stop := context.WithCancel(context.Background())
	l := &incarnation{cluster: c, version: version, stop: stop, ended: make(chan struct{}), ready: make(chan *scheduler.Scheduler, 1)}
	if l.client, l.err = newClient(c.world, process, leases(version), c.params.backend()); l.err != nil {
		panic(l.err) // the configuration is this test's own
	}
	go func() {
		defer close(l.ended)
		defer stop()
		l.err = errors.Join(l.run(ctx), l.conn.close())
	}()
	return l
}

// leases are how long leases last in a version of the configuration.
func leases(version int) time.Duration {
	if version%2 == 1 {
		return ttl * 3 / 4
	}
	return ttl
}

// run is what a replica does: it joins the nodes, keeps an eye on them, and
// schedules.
func (l *incarnation) run(ctx context.Context) error {
	if !l.join(ctx) {
		return nil
	}
	s, err := scheduler.New(l.config(), l.jobs(l.version))
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	var helpers sync.WaitGroup
	helpers.Go(func() { l.conn.watch(watching) })
	helpers.Go(func() {
		select {
		case <-l.process.Died():
			l.stop()
			s.Abort()
		case <-watching.Done():
		}
	})
	l.serve(version{number: l.version, from: l.process.Wall()})
	l.ready <- s
	err = s.Run(ctx)
	<-l.ready // no more reloads
	stopWatching()
	helpers.Wait()
	l.left = err == nil && !l.process.Dead()
	l.add(sim.Left, sim.Event{})
	return err
}

// serve notes the version that is served from now on.
func (l *incarnation) serve(v version) {
	l.versions = append(l.versions, v)
	l.add(sim.Serving, sim.Event{Tick: v.from, Text: "version " + strconv.Itoa(v.number)})
}

// reload takes in the jobs of the next version, unless the replica does not run.
// Who is paused does so afterwards.
func (l *incarnation) reload() {
	var s *scheduler.Scheduler
	select {
	case s = <-l.ready:
	case <-l.ended:
		return
	}
	defer func() { l.ready <- s }()
	last := &l.versions[len(l.versions)-1]
	until, next := l.process.Wall(), last.number+1
	if _, err := s.Update(l.jobs(next)); err != nil {
		return // it drains
	}
	last.until = until
	l.tellChange(last.number, next)
	l.serve(version{number: next, from: l.process.Wall()})
}

// tellChange notes the jobs that come and go between two versions.
func (l *incarnation) tellChange(from, to int) {
	for i := range l.cluster.params.jobs {
		_, had := l.cluster.schedule(i, from)
		if _, has := l.cluster.schedule(i, to); had && !has {
			l.add(sim.Dropped, sim.Event{Job: jobName(i)})
		} else if has && !had {
			l.add(sim.Taken, sim.Event{Job: jobName(i)})
		}
	}
}

// join tries until the nodes take the replica, or ctx ends.
func (l *incarnation) join(ctx context.Context) bool {
	for try := 0; ctx.Err() == nil && !l.process.Dead(); try++ {
		if l.conn.join(ctx) == nil {
			return true
		}
		select {
		case <-ctx.Done():
		case <-l.process.Died():
		case <-time.After(200*time.Millisecond + l.random("join", time.Time{}, 500*time.Millisecond)):
		}
	}
	return false
}

func (l *incarnation) config() scheduler.Config {
	cfg := scheduler.Config{
		Replica: l.process.Name,
		Stores:  scheduler.Stores{Locker: l.client, Ledger: l.conn.ledger},
		TTL:     leases(l.version), SafetyMargin: margin, DrainTimeout: ttl, StopTimeout: ttl,
		Clock: l.process.Wall, Random: l.random, MaxClaims: l.cluster.params.turns,
	}
	cfg.Instance = fmt.Sprint(l.process.Wall().UnixNano()) // random texts would make worlds differ
	if len(l.cluster.params.pauses) > 0 {
		cfg.Commands = hearing{&l.cluster.commands, l.process}
	}
	if l.cluster.params.roster {
		cfg.Roster = l.conn.roster
	}
	return cfg
}

// jobs are those of the version of the configuration: from one to the next a
// job's ticks move, and another job comes or goes.
func (l *incarnation) jobs(version int) []jobs.Job {
	var list []jobs.Job
	for i := range l.cluster.params.jobs {
		if s, has := l.cluster.schedule(i, version); has {
			// Part of what messages say, and so of their fate: no address, which each build has anew.
			spec := fmt.Sprint("from ", s.Next(l.cluster.begin).UnixNano())
			job := jobs.Job{Name: jobName(i), Schedule: s, Handler: l.work, Spec: spec}
			if i < len(l.cluster.params.policies) {
				l.cluster.params.policies[i].apply(&job)
			}
			list = append(list, job)
		}
	}
	return list
}

func jobName(i int) string { return "job-" + strconv.Itoa(i) }

// work is what every job does: it writes now and then, sleeps in between, and
// mostly minds its context. After a pause it writes first and looks then. Where
// it would be called again it may fail.
func (l *incarnation) work(ctx context.Context, run jobs.Run) error {
	if l.cluster.params.takes > 0 {
		l.sleep(ctx, l.cluster.params.takes, false)
		return nil
	}
	e := l.event(run.Job, run.Token)
	l.add(sim.Began, e.About(run.Trigger))
	defer l.add(sim.Returned, e)
	defer context.AfterFunc(ctx, func() { l.add(sim.Stopped, e.About(why(context.Cause(ctx)))) })()
	luck := l.world.Seed.Draw("work", run.Job, strconv.FormatInt(run.Tick.UnixMilli(), 10), strconv.Itoa(run.Call))
	longest := 300 * time.Millisecond
	if !l.cluster.params.calm && luck.IntN(l.cluster.params.brief+1) == 0 {
		longest = 3 * ttl
	}
	deaf := luck.IntN(10) == 0
	for range 3 {
		l.sleep(ctx, time.Duration(luck.Float64()*float64(longest)/3), deaf)
		l.process.Write(l.cluster.guards[run.Job], e)
		if ctx.Err() != nil && !deaf || l.process.Dead() {
			return ctx.Err()
		}
	}
	if len(l.cluster.params.policies) > 0 && luck.IntN(4) == 0 {
		return errors.New("it failed")
	}
	return nil
}

// why is the cause for which a run's context has ended, as the checker has it.
func why(cause error) string {
	switch {
	case errors.Is(cause, locking.ErrLeaseLost):
		return sim.ByLease
	case errors.Is(cause, jobs.ErrDraining):
		return sim.ByDrain
	case errors.Is(cause, jobs.ErrCancelled):
		return sim.ByTick
	}
	return cause.Error()
}

func (l *incarnation) sleep(ctx context.Context, d time.Duration, deaf bool) {
	done := ctx.Done()
	if deaf {
		done = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-l.process.Died():
	}
	l.process.Awake()
}

var _ locking.Watcher = (*client)(nil)
