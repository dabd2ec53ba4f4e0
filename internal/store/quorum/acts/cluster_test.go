package acts

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/testkit/redistest"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallMost bounds the open requests in these tests, so they reach it.
const smallMost = 30

// smallPauses bounds the pauses in these tests.
const smallPauses = 20

// connect declares the nodes as new and opens the acts they keep. For as long as
// the test it looks after nodes that are down or blank.
func connect(tb testing.TB, on redistest.Cluster, mend ...func(*membership.Config)) *Acts {
	tb.Helper()
	cfg := membership.Config{
		Namespace: on.Namespace, Dial: on.Dial, Embedded: on.Dial != nil,
		Timeout: 3 * time.Second, TTL: 30 * time.Second, Grace: time.Minute,
	}
	for _, u := range on.URLs {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: u})
	}
	for _, m := range mend {
		m(&cfg)
	}
	set, err := membership.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	if err := set.Init(tb.Context(), false); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = set.Run(ctx) })
	tb.Cleanup(func() {
		cancel()
		running.Wait()
		_ = set.Close()
	})
	a := New(set)
	a.most, a.pauses = smallMost, smallPauses
	return a
}

func TestActsConform(t *testing.T) {
	t.Parallel()
	redistest.OnEvery(t, membership.ACLRules("quorate*"), func(t *testing.T, f redistest.Fleet) {
		schedtest.RunActs(t, schedtest.ActsBackend{
			Hooks: schedtest.Hooks{Bubble: f.Bubble},
			New: func(tb testing.TB) acts.Store {
				tb.Helper()
				return connect(tb, f.New(tb))
			},
			MaxOpen: smallMost, MaxPauses: smallPauses, Nodes: f.Nodes,
		})
	})
}

func trigger(id string) acts.Act {
	return acts.Act{ID: id, Kind: acts.Trigger, Job: "job", By: "ann", Reason: "try it"}
}

func pause(id string) acts.Act {
	return acts.Act{ID: id, Kind: acts.Pause, Job: "job", By: "ann", Reason: "broken"}
}

func (a *Acts) mustDo(tb testing.TB, act acts.Act) acts.Act {
	tb.Helper()
	act, err := a.Do(tb.Context(), act)
	if err != nil {
		tb.Fatalf("Do(%s) = %v", act.ID, err)
	}
	return act
}

func (a *Acts) mustOpen(tb testing.TB) acts.Open {
	tb.Helper()
	all, err := a.Open(tb.Context())
	if err != nil {
		tb.Fatalf("Open = %v", err)
	}
	return all
}

// wantOpen wants these requests to be open, oldest first.
func (a *Acts) wantOpen(tb testing.TB, when string, ids ...string) {
	tb.Helper()
	got := a.mustOpen(tb).Requests
	ok := len(got) == len(ids)
	for i := range min(len(got), len(ids)) {
		ok = ok && got[i].ID == ids[i]
	}
	if !ok {
		tb.Errorf("%s are open %+v, want %q", when, got, ids)
	}
}
