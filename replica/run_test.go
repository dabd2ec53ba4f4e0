package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/roster"
)

// countTicks registers count, which sends the run to the channel.
func countTicks(t *testing.T) (*jobs.Registry, chan jobs.Run) {
	t.Helper()
	ran := make(chan jobs.Run, 1000)
	registry := jobs.NewRegistry()
	jobs.Register(registry, "count", func(_ context.Context, run jobs.Run, _ jobs.NoParams) error {
		ran <- run
		return nil
	})
	return registry, ran
}

// everySecond is a configuration over the given nodes, as code makes it.
func everySecond(urls []string) *config.Config {
	cfg := config.Default()
	cfg.Redis.Nodes = settings.Nodes(urls...)
	cfg.Jobs = map[string]config.JobConfig{"a": {Func: "count", Schedule: config.Specs{"@every 1s"}, JobPolicy: config.DefaultPolicy()}}
	return cfg
}

// start runs a replica and returns what stops it and waits for its end.
func start(ctx context.Context, r *Replica) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func TestRunOnBlankNodesWaitsOneGraceAndSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		registry, ran := countTicks(t)
		var log logtest.Buffer
		r, err := newReplica(everySecond(minis.URLs()), registry, Config{Logger: logTo(&log), Replica: settings.Replica{ID: "a"}, Dial: minis.Dial, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		stop := start(t.Context(), r)
		time.Sleep(5 * time.Second)
		if why := r.NotReady(); len(why) != 1 || !strings.HasPrefix(why[0], "waiting for the restart grace of the nodes: no tick runs before 2000-01-01T00:00:20") {
			t.Errorf("readyz says %q during the grace", why)
		}
		if s := r.Snapshot().State; s != roster.StateWaiting {
			t.Errorf("state %s during the grace", s)
		}
		first := <-ran
		if waited := first.Tick.Sub(began); waited < 20*time.Second || waited > 23*time.Second {
			t.Errorf("the first tick that ran was %v after the start", waited)
		}
		if why := r.NotReady(); len(why) > 0 {
			t.Errorf("readyz says %q after the grace", why)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if why := r.NotReady(); len(why) == 0 || !strings.HasPrefix(why[0], "draining") {
			t.Errorf("readyz says %q after the end", why)
		}
		if err := r.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("second Run: %v", err)
		}
		if want := "new nodes: no tick runs before 2000-01-01T00:00:20"; strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not say once %q:\n%s", want, log.String())
		}
	})
}

// initialize says that nodes are new.
func initialize(t *testing.T, cfg *config.Config, dial func(*membership.Config)) {
	t.Helper()
	cluster := nodesOf(t, cfg)
	dial(&cluster)
	set, err := membership.Open(cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	declareNew(t, set)
}

func TestRunWaitsForAQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		registry, ran := countTicks(t)
		cfg := everySecond(minis.URLs())
		initialize(t, cfg, func(c *membership.Config) { c.Dial, c.Embedded = minis.Dial, true })
		for i := range 3 {
			minis.Stop(i)
		}
		var log logtest.Buffer
		r, err := newReplica(cfg, registry, Config{Logger: logTo(&log), Dial: minis.Dial, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t.Context(), r)
		time.Sleep(time.Minute)
		if len(ran) > 0 {
			t.Error("a tick ran without a quorum")
		}
		if why := r.NotReady(); len(why) != 1 || !strings.HasPrefix(why[0], "waiting for the nodes: no quorum") {
			t.Errorf("readyz says %q", why)
		}
		minis.Start(0, true)
		<-ran
		for i := range 2 {
			minis.Stop(3 + i)
		}
		time.Sleep(10 * time.Second)
		why := r.NotReady()
		if len(why) != 1 || !strings.HasPrefix(why[0], "no quorum") {
			t.Errorf("readyz says %q after losing the quorum", why)
		}
		for i, url := range minis.URLs() {
			if named := strings.Contains(why[0], strings.TrimPrefix(url, "redis://")); named != (i > 0) {
				t.Errorf("readyz names node %d: %v: %q", i+1, named, why)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"no job runs until a quorum of nodes answers", "a quorum of nodes answers"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log.String())
			}
		}
		if n := strings.Count(log.String(), "no job runs until"); n != 1 {
			t.Errorf("the log says %d times that it waits", n)
		}
	})
}

func TestRunEndsWhereItIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		registry, _ := countTicks(t)
		initialize(t, everySecond(minis.URLs()), func(c *membership.Config) { c.Dial, c.Embedded = minis.Dial, true })
		r, err := newReplica(everySecond(minis.URLs()[:3]), registry, Config{Logger: slog.New(slog.DiscardHandler), Dial: minis.Dial, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(t.Context()); !errors.Is(err, locking.ErrRefused) {
			t.Errorf("a replica with another list of nodes got %v", err)
		}
	})
}

func TestAbortEndsADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 1)
		defer minis.Close()
		began := make(chan struct{}, 10)
		registry := jobs.NewRegistry()
		jobs.Register(registry, "count", func(ctx context.Context, _ jobs.Run, _ jobs.NoParams) error {
			began <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		cfg := everySecond(minis.URLs())
		initialize(t, cfg, func(c *membership.Config) { c.Dial, c.Embedded = minis.Dial, true })
		finished := 0
		r, err := newReplica(cfg, registry, Config{
			Logger: slog.New(slog.DiscardHandler), Dial: minis.Dial, Embedded: true,
			Observer: func(e event.Event) {
				if e.Kind == event.Finished {
					finished++
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		<-began
		cancel()
		time.Sleep(time.Second)
		select {
		case <-done:
			t.Error("the drain did not wait for the run")
		default:
		}
		if why := r.NotReady(); len(why) != 1 || !strings.HasPrefix(why[0], "draining") {
			t.Errorf("readyz says %q during the drain", why)
		}
		if finished != 0 {
			t.Error("a run ended before it was aborted")
		}
		r.Abort()
		aborted := time.Now()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(aborted); took > time.Second {
			t.Errorf("Abort took %v", took)
		}
		if finished != 1 {
			t.Errorf("the observer of the options was told of %d ends of runs", finished)
		}
	})
}

// write writes a configuration and returns its path.
func write(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// nodesOf returns what the nodes of a configuration are opened with.
func nodesOf(t *testing.T, cfg *config.Config) membership.Config {
	t.Helper()
	cluster, err := cfg.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Redis
}

// newReplica returns a replica with a configuration that was not read from a file.
func newReplica(cfg *config.Config, registry *jobs.Registry, c Config) (*Replica, error) {
	c.File, c.Registry = &config.File{Config: cfg}, registry
	return New(c)
}

// logTo is a logger to w.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
