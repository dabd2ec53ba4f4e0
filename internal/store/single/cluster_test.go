package single_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

const grace = 20 * time.Second

func open(t *testing.T, m *kvtest.Memory) *single.Cluster {
	t.Helper()
	c, err := single.Open(m, claims.Config{Grace: grace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// state returns the state of the only node, and what is found about it.
func state(t *testing.T, c *single.Cluster) (view.Node, view.Check) {
	t.Helper()
	nodes, checks := view.NodeRows(c.Inspect(t.Context()), true), view.NewCheckup(c.Check(t.Context()), true).Rows
	if len(nodes) != 1 || len(checks) != 1 || nodes[0].State != checks[0].State {
		t.Fatalf("nodes %+v, checks %+v", nodes, checks)
	}
	return nodes[0], checks[0]
}

// People see a store that is new, declared new, failed over, and silent.
func TestStoreIsListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		c := open(t, m)
		if n, check := state(t, c); n.State != view.NodeAbstaining || n.Why == nil || n.VouchesAt == nil || check.Verdict != "wait" || len(check.Findings) != 1 {
			t.Errorf("a new store is %+v, %+v", n, check)
		}
		if err := claims.DeclareNew(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if n, check := state(t, c); n.State != view.NodeReady || n.Kind != view.KindStore || n.Since != nil || check.Verdict != "ok" {
			t.Errorf("a store that was declared new is %+v, %+v", n, check)
		}
		m.Restore(m.Backup())
		if n, _ := state(t, c); n.State != view.NodeAbstaining {
			t.Errorf("after a failover it is %+v", n)
		}
		m.Fault = func(context.Context, kvtest.Call) error { return errors.New("cut off") }
		if n, check := state(t, c); n.State != view.NodeDown || n.Error == nil || check.Verdict != "mend" {
			t.Errorf("a silent store is %+v, %+v", n, check)
		}
	})
}

// declaredNew is a store that may be used at once.
func declaredNew(t *testing.T) (*kvtest.Memory, *single.Cluster) {
	t.Helper()
	m := new(kvtest.Memory)
	c := open(t, m)
	if err := claims.DeclareNew(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m, c
}

// Locks can be listed, taken from their holders, and forgotten, as on nodes.
func TestLocksOfAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := declaredNew(t)
		if _, err := c.Claims.TryAcquire(t.Context(), locking.Request{Name: "job", Holder: "a"}); err != nil {
			t.Fatal(err)
		}
		if rows, err := view.ControlOf(c).Locks(t.Context()); err != nil || len(rows) != 1 || rows[0].Job != "job" || rows[0].State != "held" {
			t.Errorf("Locks = %+v, %v", rows, err)
		}
		if err := store.Forget(t.Context(), c, "job"); !errors.Is(err, locking.ErrTaken) {
			t.Errorf("forgetting a held lock = %v", err)
		}
		if row, err := view.ControlOf(c).Release(t.Context(), commands.Command{Job: "job", By: "ann", Reason: "test it"}, 0); err != nil || row.Job != "job" {
			t.Errorf("Evict = %+v, %v", row, err)
		}
		if _, err := view.ControlOf(c).Release(t.Context(), commands.Command{Job: "nobody", By: "ann", Reason: "test it"}, 0); !errors.Is(err, view.ErrNotFound) {
			t.Errorf("Evict of nothing = %v", err)
		}
		if err := store.ForScheduler(c).Forget(t.Context(), "never"); err != nil {
			t.Errorf("forgetting nothing = %v", err)
		}
	})
}

// Runs of a job without logs are bounded, too.
func TestRunsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c := declaredNew(t)
		tick := time.Now().Truncate(time.Second)
		for range 3 * jobs.MaxKeep {
			tick = tick.Add(time.Second)
			time.Sleep(time.Until(tick))
			lease, err := c.Claims.TryAcquire(t.Context(), locking.Request{Name: "job", Tick: tick, Note: ledger.EncodeNote(ledger.Entry{})})
			if err == nil {
				err = lease.Release(t.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded}))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		list, err := c.Ledger.Runs(t.Context(), ledger.Query{Job: "job", Limit: 3 * jobs.MaxKeep})
		if err != nil || len(list) < jobs.MaxKeep || len(list) > 2*jobs.MaxKeep {
			t.Errorf("%d runs are kept, %v, want about %d", len(list), err, jobs.MaxKeep)
		}
	})
}

// A skewed store has a clock that is off.
type skewed struct {
	*kvtest.Memory
	by time.Duration
}

func (s skewed) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	list, at, err := s.Memory.Read(ctx, keys...)
	at.Now = at.Now.Add(s.by)
	return list, at, err
}

func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]string{
		3 * time.Second:        "its clock is 3s ahead of this machine's: run NTP on both",
		-3 * time.Second:       "its clock is 3s behind this machine's: run NTP on both",
		100 * time.Millisecond: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := single.Open(skewed{new(kvtest.Memory), by}, claims.Config{Grace: grace}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, check := state(t, c)
			at := slices.IndexFunc(check.Findings, func(f view.Finding) bool { return f.Topic == "clock" })
			switch {
			case at < 0 && want != "":
				t.Errorf("with %v it finds %+v, want %q", by, check.Findings, want)
			case at >= 0 && check.Findings[at].Text != want:
				t.Errorf("with %v it finds %q, want %q", by, check.Findings[at].Text, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A store that is silent keeps nobody waiting for longer than a call may take.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context, _ kvtest.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}
		c := open(t, &kvtest.Memory{Fault: silent})
		for what, call := range map[string]func(context.Context) error{
			"ticks": func(ctx context.Context) error {
				_, err := c.Ledger.Ticks(ctx, ledger.Query{Job: "x", Limit: 1})
				return err
			},
			"roster": func(ctx context.Context) error { _, err := c.Roster.Replicas(ctx); return err },
			"acts":   func(ctx context.Context) error { _, err := c.Commands.Audit(ctx, 1); return err },
			"locks":  func(ctx context.Context) error { _, err := c.Holders(ctx); return err },
			"look":   func(ctx context.Context) error { _, err := c.Look(ctx); return err },
			"life":   c.NoteIncarnation,
			"new":    c.DeclareNew,
			"old":    c.DeclareRestored,
		} {
			begun := time.Now()
			err := call(context.Background())
			if took := time.Since(begun); !errors.Is(err, kv.ErrUnavailable) || took != claims.DefaultTimeout {
				t.Errorf("%s: %v after %v, want %v after %v", what, err, took, kv.ErrUnavailable, claims.DefaultTimeout)
			}
		}
	})
}

// An uncheckable server is silent when it is asked for its settings.
type uncheckable struct{ *kvtest.Memory }

func (uncheckable) Check(ctx context.Context) (kv.Checkup, error) {
	<-ctx.Done()
	return kv.Checkup{}, ctx.Err()
}

func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := single.Open(uncheckable{new(kvtest.Memory)}, claims.Config{Grace: grace}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		checks := view.NewCheckup(c.Check(context.Background()), true).Rows
		if took := time.Since(begun); len(checks) != 1 || checks[0].Verdict != "mend" || took != claims.DefaultTimeout {
			t.Errorf("%+v after %v, want a mistake after %v", checks, took, claims.DefaultTimeout)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A store that answers and takes no writes is not well, whatever it says to readers.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, c := declaredNew(t)
		m.Fault = func(_ context.Context, c kvtest.Call) error {
			if c.Method == "Commit" {
				return errors.New("no space")
			}
			return nil
		}
		check := view.NewCheckup(c.Check(t.Context()), true).Rows[0]
		if check.State != view.NodeRefusing || check.Verdict != "mend" || len(check.Findings) != 1 || check.Findings[0].Topic != "write" || !strings.Contains(check.Findings[0].Text, "no space") {
			t.Errorf("a full store is %+v", check)
		}
		m.Fault = nil
		if check := view.NewCheckup(c.Check(t.Context()), true).Rows[0]; check.State != view.NodeReady || check.Verdict != "ok" {
			t.Errorf("a store with space is %+v", check)
		}
	})
}
