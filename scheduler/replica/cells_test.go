package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redisstore"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// twoCells is a configuration of two cells with one node each, and eight jobs
// that tick every second.
func twoCells(urls []string) *config.Config {
	cfg := config.Default()
	cfg.Redis.Cells = map[string]config.CellConfig{
		"east": {Nodes: []config.NodeEntry{{URL: urls[0]}}}, "west": {Nodes: []config.NodeEntry{{URL: urls[1]}}},
	}
	cfg.Jobs = map[string]config.JobConfig{}
	for i := range 8 {
		cfg.Jobs[fmt.Sprintf("job-%d", i)] = config.JobConfig{Func: "count", Schedule: config.Specs{"@every 1s"}, JobPolicy: config.DefaultPolicy()}
	}
	return cfg
}

// declareCells says that the nodes of all cells are new.
func declareCells(t *testing.T, cfg *config.Config, minis *redistest.Minis) {
	t.Helper()
	list, err := cfg.Nodes()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Dial, list[i].Embedded = minis.Dial, true
	}
	sets, err := members.OpenCells(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sets {
		_ = s.Close()
	}
}

// during returns the jobs that run within d.
func during(ran <-chan jobs.Run, d time.Duration) []string {
	seen := map[string]bool{}
	for end := time.After(d); ; {
		select {
		case run := <-ran:
			seen[run.Job] = true
		case <-end:
			var names []string
			for name := range seen {
				names = append(names, name)
			}
			slices.Sort(names)
			return names
		}
	}
}

// A replica that starts while a cell is away runs the jobs of the other, and is
// ready; the cell is joined when it is there, and nothing is claimed in it before.
func TestStartWithOneCellAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 2)
		defer minis.Close()
		cfg := twoCells(minis.URLs())
		declareCells(t, cfg, minis)
		minis.Stop(1)
		registry, ran := countTicks(t)
		r, err := newReplica(cfg, registry, Config{ID: "a", Logger: logTo(t.Output()), Redis: Redis{Dial: minis.Dial, Embedded: true}})
		if err != nil {
			t.Fatal(err)
		}
		west := r.cells[1]
		if _, err := west.TryAcquire(t.Context(), locking.Request{Name: "x", TTL: time.Second}); !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "not joined yet") {
			t.Errorf("claiming before Run: %v", err)
		}
		stop := start(t.Context(), r)
		east := during(ran, 10*time.Second)
		if len(east) == 0 || len(east) == 8 {
			t.Errorf("without west, %v run", east)
		}
		if why := r.notReady(); len(why) > 0 || r.Snapshot().State != scheduler.StateReady {
			t.Errorf("without west it is not ready: %q, %s", why, r.Snapshot().State)
		}
		minis.Start(1, true)
		during(ran, 60*time.Second) // embedded nodes may have forgotten when they come back
		if all := during(ran, 10*time.Second); len(all) != 8 {
			t.Errorf("with west again, %v run", all)
		}
		minis.Stop(0)
		minis.Stop(1)
		during(ran, 10*time.Second)
		if why := r.notReady(); len(why) != 2 || !strings.HasPrefix(why[0], "cell east: no quorum") || !strings.HasPrefix(why[1], "cell west: no quorum") {
			t.Errorf("without both, readyz says %q", why)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The locks of a cell are listed while another is away, also if it holds none: what
// is missing is said, and is not everything.
func TestLocksWithOneCellAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 2)
		defer minis.Close()
		cfg := twoCells(minis.URLs())
		declareCells(t, cfg, minis)
		list, err := cfg.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i].Dial, list[i].Embedded = minis.Dial, true
		}
		c, err := redisstore.Open(list)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Locks(t.Context()); err != nil {
			t.Errorf("all are there: %v", err)
		}
		minis.Stop(1)
		rows, err := c.Locks(t.Context())
		partial, ok := errors.AsType[*ledger.PartialError](err)
		if !ok || len(rows) != 0 || !errors.Is(err, locking.ErrNoQuorum) || !strings.HasPrefix(err.Error(), "cell west: ") {
			t.Fatalf("without west: %v, %v", rows, err)
		}
		for name := range cfg.Jobs {
			if lacks := partial.Lacks(name); lacks != (c.Of(name).Cell() == "west") {
				t.Errorf("%s is in %s, lacking: %t", name, c.Of(name).Cell(), lacks)
			}
		}
		minis.Stop(0)
		if _, err := c.Locks(t.Context()); !errors.Is(err, locking.ErrNoQuorum) || listing.IgnorePartial(err) == nil {
			t.Errorf("without both: %v", err)
		}
	})
}

// A cell that turns out to refuse the replica ends it, also when it runs already.
func TestLateRefusalEndsTheReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 2)
		defer minis.Close()
		cfg := twoCells(minis.URLs())
		declareCells(t, cfg, minis)
		minis.Stop(1)
		registry, ran := countTicks(t)
		r, err := newReplica(cfg, registry, Config{ID: "a", Logger: logTo(t.Output()), Redis: Redis{Dial: minis.Dial, Embedded: true}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		if during(ran, 5*time.Second) == nil {
			t.Error("nothing ran in east")
		}
		minis.Start(1, true)
		minis.Node(1).HSet("{quorate}:node", "member", "x another 0 20000 2", "names", "x y z")
		select {
		case err := <-done:
			if !errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), "[x y z]") {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("it goes on")
			cancel()
			<-done
		}
	})
}
