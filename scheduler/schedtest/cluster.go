// Package schedtest tests jobs and schedules in virtual time, without Redis:
// days of a configuration pass in a second of go test.
//
//	setup := replicatest.Load(t, "config.yaml", registry)
//	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
//		c.Forward(72 * time.Hour)
//		c.Expect("nightly-report",
//			"2026-03-28T01:00:00Z succeeded",
//			"2026-03-29T00:00:00Z succeeded", // summer time
//			"2026-03-30T00:00:00Z succeeded",
//		)
//	})
//
// # A cluster in a test
//
// [Run] makes a [Cluster] of replicas, three unless [Setup] says otherwise, in a bubble of
// testing/synctest: real schedulers, with the decisions of nodes and their ledger in
// memory, or on the stores of [Setup.Stores]. Time stops while anything works, and moves by [Cluster.Forward] and
// [Cluster.Await]. Functions of jobs run as in production. Functions that leave the process
// (exec, http) must be replaced by [Cluster.Replace] or [Setup.Instead], or days of work
// are really done. [Calls] records the calls of a function with its params.
//
// Faults are method calls: [Replica.Kill], [Replica.Freeze], [Replica.Stop],
// [Cluster.StopNodes], [Cluster.LoseLease]. [Cluster.Update] changes the jobs while they
// run, as a roll-out does; [Cluster.Trigger], [Cluster.Pause], [Cluster.Resume] and
// [Cluster.Do] are requests of people.
//
// The outcomes are in the ledger: [Cluster.Expect] compares it with lines of text,
// [Cluster.Ticks] and [Cluster.Runs] return it. A test that fails prints it.
//
// # Conformance kits
//
// [RunLedger] and [RunRoster] check what every [ledger.Store] and
// [roster.Roster] must do. [Ledger] and [Roster] are one of each in memory.
package schedtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
)

// A Setup describes a Cluster.
type Setup struct {
	// Jobs of every replica: those of a configuration file, by replicatest.Load, or written
	// in Go. Required.
	Jobs []jobs.Job
	// Replicas at the start. Default 3.
	Replicas int
	// Labels of the first replica, of the second and so on. Others have Config.Labels.
	Labels []map[string]string
	// Start is when the test begins, at or after the year 2000. Default:
	// 2000-01-01T00:00:00Z.
	Start time.Time
	// Config is the common configuration of the replicas: leases, windows, limits. The
	// Cluster sets its Replica, Clock and Stores, except Forget. Its CommandsEvery and BeatEvery
	// are 10 s by default, so days pass quickly.
	Config scheduler.Config
	// Stores, if set, returns the new and empty stores of the cluster, in the bubble. Default:
	// stores in memory that keep everything.
	Stores func(t *testing.T) scheduler.Stores
	// Instead, if set, is called in place of every job's function.
	Instead jobs.Handler
}

// Run calls test with a Cluster whose replicas have just started, in a bubble of
// testing/synctest. In it use the t of test, and no t.Run or t.Parallel. When test returns,
// Run waits for functions as in a drain; one that does not end is an error.
func Run(t *testing.T, s Setup, test func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		c := newCluster(t, s)
		defer c.end()
		c.Forward(0)
		test(t, c)
	})
}

func newCluster(t *testing.T, s Setup) *Cluster {
	t.Helper()
	if wait := time.Until(s.Start); wait > 0 {
		time.Sleep(wait)
	} else if !s.Start.IsZero() && wait < 0 {
		t.Fatalf("Setup.Start is %v: virtual time begins at %v, choose a later one", s.Start, time.Now().UTC())
	}
	stores := memory()
	if s.Stores != nil {
		stores = s.Stores(t)
	}
	world, err := newWorld(stores)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, setup: s, world: world, instead: map[string]jobs.Handler{}}
	c.meet(s.Jobs)
	for range cmp.Or(s.Replicas, 3) {
		c.Add()
	}
	return c
}

// A Cluster is a set of replicas that share jobs, nodes and virtual time. Use its methods
// in the test's goroutine. Create one with Run.
type Cluster struct {
	t        *testing.T
	setup    Setup
	world    *world
	replicas []*Replica
	jobs     []jobs.Job     // of all replicas, now and before
	dead     []*incarnation // killed

	mu      sync.Mutex
	instead map[string]jobs.Handler
	waiting *awaited // nil unless Await waits
}

// awaited is the next run of a job.
type awaited struct {
	job string
	run chan jobs.Run // has room for one
}

// Now is the virtual time, in UTC.
func (c *Cluster) Now() time.Time { return time.Now().UTC() }

// Forward advances the time, with everything that happens in it. Attempts at its very end
// have begun when Forward returns.
func (c *Cluster) Forward(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// ForwardTo advances the time to t.
func (c *Cluster) ForwardTo(t time.Time) {
	c.t.Helper()
	d := time.Until(t)
	if d < 0 {
		c.t.Fatalf("cannot go forward to %v: it is %v", t.UTC(), c.Now())
	}
	c.Forward(d)
}

// Await advances the time until the next run of the job begins, and returns it. If none
// begins within the given time, the test ends.
func (c *Cluster) Await(job string, within time.Duration) jobs.Run {
	c.t.Helper()
	a := &awaited{job: job, run: make(chan jobs.Run, 1)}
	c.await(a)
	defer c.await(nil)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case run := <-a.run:
		synctest.Wait()
		return run
	case <-timer.C:
		c.t.Fatalf("no run of %s began within %v, until %v", job, within, c.Now())
		return jobs.Run{}
	}
}

func (c *Cluster) await(a *awaited) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = a
}

// begun signals that a function is about to be called.
func (c *Cluster) begun(run jobs.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil && c.waiting.job == run.Job {
		c.waiting.run <- run
		c.waiting = nil
	}
}

// Replace calls fn instead of the job's function from now on; nil restores the job's own.
func (c *Cluster) Replace(job string, fn jobs.Handler) {
	c.t.Helper()
	c.known(job)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.instead[job] = fn
}

// function returns the function of a job.
func (c *Cluster) function(job string, own jobs.Handler) jobs.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fn := c.instead[job]; fn != nil {
		return fn
	}
	if c.setup.Instead != nil {
		return c.setup.Instead
	}
	return own
}

// Update replaces the jobs of all replicas. Replica.Update does so for one, as during a
// roll-out.
func (c *Cluster) Update(list []jobs.Job) {
	c.t.Helper()
	c.setup.Jobs = list
	for _, r := range c.replicas {
		r.Update(list)
	}
}

// meet adds jobs that the test may name.
func (c *Cluster) meet(list []jobs.Job) {
	for _, j := range list {
		i := slices.IndexFunc(c.jobs, func(have jobs.Job) bool { return have.Name == j.Name })
		if i < 0 {
			c.jobs = append(c.jobs, j)
		} else {
			c.jobs[i] = j
		}
	}
}

// known returns the key of a job. It ends the test if there is no such job: a misspelt name
// must not look like a job without ticks.
func (c *Cluster) known(job string) (key string) {
	c.t.Helper()
	var names []string
	for _, j := range c.jobs {
		if j.Name == job {
			return cmp.Or(j.Key, j.Name)
		}
		names = append(names, j.Name)
	}
	c.t.Fatalf("there is no job %q; the cluster has %q", job, names)
	return ""
}

// Add starts one more replica.
func (c *Cluster) Add() *Replica {
	c.t.Helper()
	n := len(c.replicas)
	r := &Replica{c: c, name: fmt.Sprintf("replica-%d", n+1), jobs: c.setup.Jobs}
	if n < len(c.setup.Labels) {
		r.labels = c.setup.Labels[n]
	}
	c.replicas = append(c.replicas, r)
	r.Start()
	return r
}

// Replicas returns the running replicas, sorted by name.
func (c *Cluster) Replicas() []*Replica {
	var list []*Replica
	for _, r := range c.replicas {
		if r.incarnation != nil {
			list = append(list, r)
		}
	}
	return list
}

// Replica returns the replica with the name, running or not; Run.Replica names that of a
// run.
func (c *Cluster) Replica(name string) *Replica {
	c.t.Helper()
	for _, r := range c.replicas {
		if r.name == name {
			return r
		}
	}
	c.t.Fatalf("there is no replica %q; those of %d are replica-1 and so on", name, len(c.replicas))
	return nil
}

// Outage kills all replicas, advances the time, and starts them again.
func (c *Cluster) Outage(d time.Duration) {
	c.t.Helper()
	died := c.Replicas()
	for _, r := range died {
		r.Kill()
	}
	c.Forward(d)
	for _, r := range died {
		r.Start()
	}
	synctest.Wait()
}

// StopNodes takes the quorum away: no claim is granted, no lease extended, nothing
// recorded.
func (c *Cluster) StopNodes() { c.world.stopNodes() }

// StartNodes brings the nodes back, with their memory.
func (c *Cluster) StartNodes() {
	c.world.startNodes()
	synctest.Wait()
}

// LoseLease ends the lease of the job's run. The run notices when its replica tries to
// extend the lease, after a third of lock.ttl at the latest.
func (c *Cluster) LoseLease(job string) {
	c.t.Helper()
	if c.world.lose(c.known(job)) == 0 {
		c.t.Fatalf("no run of %s has a lease at %v", job, c.Now())
	}
}

// end stops all replicas, and logs what happened if the test failed.
func (c *Cluster) end() {
	c.t.Helper()
	c.StartNodes()
	for _, r := range c.Replicas() {
		r.Stop()
	}
	for _, l := range c.dead {
		if err := <-l.ended; err != nil {
			c.t.Logf("a replica that was killed ended with: %v", err) // its reaction does not matter
		}
	}
	if c.t.Failed() {
		c.t.Log(c.account())
	}
}

// author is the author of commands in tests.
const author = "schedtest"

// Trigger requests a run of the job now, as `quorate trigger` does.
func (c *Cluster) Trigger(job string) commands.Command {
	c.t.Helper()
	return c.Do(commands.Command{Kind: commands.Trigger, Job: c.known(job)})
}

// Pause makes the job skip its ticks until Resume. Replicas see it within Config.CommandsEvery.
func (c *Cluster) Pause(job, reason string) {
	c.t.Helper()
	c.Do(commands.Command{Kind: commands.Pause, Job: c.known(job), Reason: reason})
}

// Resume ends a Pause.
func (c *Cluster) Resume(job string) {
	c.t.Helper()
	c.Do(commands.Command{Kind: commands.Resume, Job: c.known(job), Reason: "resumed"})
}

// Do stores any command, for example a backfill, a cancel, or a trigger with params, and
// returns it as stored. Its Job is a key. Nodes that do not answer end the test.
func (c *Cluster) Do(command commands.Command) commands.Command {
	c.t.Helper()
	if command.By == "" {
		command.By = author
	}
	ctx := context.WithoutCancel(c.t.Context())
	if err := c.world.ask(ctx); err != nil {
		c.t.Fatal(err)
	}
	command, err := c.world.stores.Commands.Do(ctx, command)
	if err != nil {
		c.t.Fatal(err)
	}
	return command
}

// Audit returns every command of the test with its result, newest first.
func (c *Cluster) Audit() []commands.Command {
	c.t.Helper()
	commands, err := c.world.stores.Commands.Audit(context.WithoutCancel(c.t.Context()), remembered)
	if err != nil {
		c.t.Fatal(err)
	}
	return commands
}

// gatedCommands are the commands behind a gate.
type gatedCommands struct{ *gate }

func (g gatedCommands) Do(ctx context.Context, command commands.Command) (commands.Command, error) {
	if err := g.through(ctx); err != nil {
		return commands.Command{}, err
	}
	return g.stores.Commands.Do(ctx, command)
}

func (g gatedCommands) Open(ctx context.Context) (commands.Open, error) {
	if err := g.through(ctx); err != nil {
		return commands.Open{}, err
	}
	return g.stores.Commands.Open(ctx)
}

func (g gatedCommands) Close(ctx context.Context, id, result string) error {
	if err := g.through(ctx); err != nil {
		return err
	}
	return g.stores.Commands.Close(ctx, id, result)
}

func (g gatedCommands) Audit(ctx context.Context, limit int) ([]commands.Command, error) {
	if err := g.through(ctx); err != nil {
		return nil, err
	}
	return g.stores.Commands.Audit(ctx, limit)
}
