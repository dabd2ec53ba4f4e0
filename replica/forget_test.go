package replica

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// customers is a config.Source of one job, until that is cancelled.
type customers struct {
	job       jobs.Job
	cancelled atomic.Bool
}

func (c *customers) Jobs(context.Context) ([]jobs.Job, error) {
	if c.cancelled.Load() {
		return nil, nil
	}
	return []jobs.Job{c.job}, nil
}

// newCustomers yields a job whose runs leave a lock of their tick, a log and a place in a
// group.
func newCustomers(t *testing.T, spec string, work func(context.Context)) *customers {
	t.Helper()
	schedule, err := schedule.Parse(spec, schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &customers{job: jobs.Job{
		Name: "customer", Schedule: schedule, Spec: spec, Overlap: jobs.OverlapAllow, Group: "all", GroupSize: 50,
		Handler: func(ctx context.Context, run jobs.Run) error {
			run.Logger.Info("a line that is kept")
			work(ctx)
			return nil
		},
	}}
}

// keysOf are those among keys that are kept for a job.
func keysOf(job string, keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.Contains(key, ":job:"+job+":") })
}

// TestRemovedJobIsForgotten: what the nodes keep of a job that nobody has served
// for scheduler.cluster.forget_after goes, in virtual time; on a node that was away, when
// it is back.
func TestRemovedJobIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		defer minis.Close()
		registry, _ := countTicks(t)
		cfg := everySecond(minis.URLs())
		cfg.Jobs = map[string]config.JobConfig{"a": {Func: "count", Schedule: config.Specs{"@every 1m"}, JobPolicy: config.DefaultPolicy()}}
		initialize(t, cfg, func(c *membership.Config) { c.Dial, c.Embedded = minis.Dial, true })
		source := newCustomers(t, "@every 1m", func(context.Context) {})
		var log logtest.Buffer
		r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: "r"}, Logger: logTo(&log), Source: source, Dial: minis.Dial, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t.Context(), r)
		kept := func(job string) (n int) {
			for i := range 3 {
				n += len(keysOf(job, minis.Node(i).Keys()))
			}
			return n
		}
		time.Sleep(4*time.Minute + 30*time.Second) // between two ticks
		source.cancelled.Store(true)
		time.Sleep(time.Minute + 500*time.Millisecond) // nobody talks to the nodes
		for i := range 3 {
			publishedBefore(t, minis.Node(i), "customer", 720*time.Hour)
		}
		slot := scheduler.BackfillSlots("customer")[7] // that a backfill had once
		for i := range 2 {
			if err := minis.Node(i).Set("{quorate}:job:"+slot+":fence", "5 - - backfill"); err != nil {
				t.Fatal(err)
			}
		}
		minis.Stop(2)
		away := len(keysOf("customer", minis.Node(2).Keys()))
		if strings.Count(log.String(), "job forgotten") > 0 || kept("customer") < 6 { // its claims are on two nodes at least
			t.Errorf("before a replica has looked the nodes keep %d keys: %s", kept("customer"), log.String())
		}
		time.Sleep(time.Hour)
		const line = `msg="job forgotten: nobody has served it for scheduler.forget_after" quorate.replica=r job=customer last_served=1999-12-0`
		if strings.Count(log.String(), line) != 1 || kept("customer") != away {
			t.Errorf("%d keys are kept, %d by the node that is away: %s", kept("customer"), away, log.String())
		}
		if n := kept(slot); n > 0 {
			t.Errorf("%d keys are kept of the slot of its backfills", n)
		}
		minis.Start(2, true)
		time.Sleep(time.Hour)
		if n := kept("customer"); n > 0 || kept("a") < 6 {
			t.Errorf("%d keys of the job that was removed, %d of the other", n, kept("a"))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// publishedBefore makes a node say that a job was published so much earlier.
func publishedBefore(t *testing.T, node *miniredis.Miniredis, job string, by time.Duration) {
	t.Helper()
	names, err := node.HKeys("{quorate}:jobs")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at, text, _ := strings.Cut(node.HGet("{quorate}:jobs", name), "|")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, job+"|") {
			node.HSet("{quorate}:jobs", name, strconv.FormatInt(ms-by.Milliseconds(), 10)+"|"+text)
		}
	}
}

// TestForgetLeavesNoKey: on real servers, nothing that a run leaves outlives
// Forget, which is refused while it runs.
func TestForgetLeavesNoKey(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	registry, ran := countTicks(t)
	cfg := everySecond(redistest.URLs(servers))
	cfg.Redis.NodeTimeout = time.Second
	cfg.Scheduler.SourceEvery = 100 * time.Millisecond // it is asked twice before its only job is gone
	initialize(t, cfg, func(*membership.Config) {})
	began, release := make(chan bool, 1000), make(chan struct{})
	source := newCustomers(t, "@every 1s", func(ctx context.Context) {
		began <- true
		select {
		case <-release:
		case <-ctx.Done():
		}
	})
	r, err := newReplica(cfg, registry, Config{Replica: settings.Replica{ID: "r"}, Logger: logTo(t.Output()), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t.Context(), r)
	<-began
	eventually(t, "Forget is refused while the job runs", func() bool {
		err := store.ForScheduler(r.store).Forget(t.Context(), "customer")
		if !errors.Is(err, locking.ErrTaken) && !errors.Is(err, locking.ErrNoQuorum) {
			t.Fatalf("while the job runs: %v", err)
		}
		return errors.Is(err, locking.ErrTaken)
	})
	source.cancelled.Store(true)
	r.Refresh()
	close(release)
	eventually(t, "no key is left", func() bool {
		_ = store.ForScheduler(r.store).Forget(t.Context(), "customer") // the run's log may come after the first time
		return len(keysOf("customer", keysOn(t, servers))) == 0
	})
	<-ran
	if len(keysOf("a", keysOn(t, servers))) == 0 {
		t.Error("nothing is kept of the other job")
	}
	if err := store.ForScheduler(r.store).Forget(t.Context(), "customer"); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("when nothing is left: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// eventually tries until ok, of which something waits for the machine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !ok(); tries++ {
		if tries == 1000 {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// keysOn lists the keys of all servers.
func keysOn(t *testing.T, servers []*redistest.Server) []string {
	t.Helper()
	var all []string
	for _, s := range servers {
		keys, err := s.Client().Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, keys...)
	}
	return all
}
