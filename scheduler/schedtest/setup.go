package schedtest

import (
	"cmp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// A Setup is what a Cluster is made of.
type Setup struct {
	// Jobs that every replica serves: those of a configuration file, by
	// replicatest.Load, or written in Go. Required.
	Jobs []scheduler.Job
	// Replicas that there are at first. Default 3.
	Replicas int
	// Labels of the first replica, of the second and so on. Those beyond have
	// Config.Labels.
	Labels []map[string]string
	// Start is when the test begins, at or after the year 2000. Ticks after it
	// come due. Default: 2000-01-01T00:00:00Z.
	Start time.Time
	// Config is what the replicas have in common: leases, windows, limits. Its
	// Replica, Locker, Ledger, Roster, Acts, Archive and Clock are the Cluster's;
	// its ActsEvery and BeatEvery are 10 s by default, so that days pass quickly.
	Config scheduler.Config
	// Instead, if set, is called in place of every job's function.
	Instead jobs.Handler
}

// Run calls test with a Cluster whose replicas have just started, in a bubble of
// testing/synctest. Within it use the t that test is given, and no t.Run or
// t.Parallel. Functions that still run when test returns are waited for, as in
// the drain of a replica; one that does not end is an error.
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
	c := &Cluster{t: t, setup: s, world: newWorld(), instead: map[string]jobs.Handler{}}
	c.meet(s.Jobs)
	for range cmp.Or(s.Replicas, 3) {
		c.Add()
	}
	return c
}
