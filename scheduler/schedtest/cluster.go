package schedtest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// A Cluster is a set of replicas that share jobs, nodes and virtual time. Use its methods
// in the test's goroutine. Create one with Run.
type Cluster struct {
	t        *testing.T
	setup    Setup
	world    *world
	replicas []*Replica
	jobs     []scheduler.Job // of all replicas, now and before
	dead     []*life         // killed

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
func (c *Cluster) Update(list []scheduler.Job) {
	c.t.Helper()
	c.setup.Jobs = list
	for _, r := range c.replicas {
		r.Update(list)
	}
}

// meet adds jobs that the test may name.
func (c *Cluster) meet(list []scheduler.Job) {
	for _, j := range list {
		i := slices.IndexFunc(c.jobs, func(have scheduler.Job) bool { return have.Name == j.Name })
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
		if r.life != nil {
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
