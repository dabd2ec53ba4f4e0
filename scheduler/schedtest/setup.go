package schedtest

import (
	"cmp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// A Setup describes a Cluster.
type Setup struct {
	// Jobs of every replica: those of a configuration file, by replicatest.Load, or written
	// in Go. Required.
	Jobs []scheduler.Job
	// Replicas at the start. Default 3.
	Replicas int
	// Labels of the first replica, of the second and so on. Others have Config.Labels.
	Labels []map[string]string
	// Start is when the test begins, at or after the year 2000. Default:
	// 2000-01-01T00:00:00Z.
	Start time.Time
	// Config is the common configuration of the replicas: leases, windows, limits. The
	// Cluster sets its Replica, Clock and Stores, except Forget. Its ActsEvery and BeatEvery
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
