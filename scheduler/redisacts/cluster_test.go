package redisacts

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallMost is how many requests may be open in these tests, so that they reach
// it.
const smallMost = 30

// connect declares the nodes as new and opens the acts they keep. For as long as
// the test it looks after nodes that are down or blank.
func connect(tb testing.TB, namespace string, urls []string, mend func(*nodes.Config)) *Acts {
	tb.Helper()
	cfg := nodes.Config{
		Namespace: namespace, Timeout: 500 * time.Millisecond, TTL: 30 * time.Second, Grace: time.Minute,
	}
	for _, u := range urls {
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{URL: u})
	}
	if mend != nil {
		mend(&cfg)
	}
	set, err := nodes.Open(cfg)
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
	a.most = smallMost
	return a
}

func embedded(minis *redistest.Minis) func(*nodes.Config) {
	return func(cfg *nodes.Config) { cfg.Dial, cfg.Embedded = minis.Dial, true }
}

// A fleet makes clusters of one kind, each in a namespace of its own.
type fleet struct {
	schedtest.Hooks
	connect func(tb testing.TB) *Acts
}

func realFleet(tb testing.TB, opts ...redistest.Option) fleet {
	tb.Helper()
	urls, n := redistest.URLs(redistest.StartN(tb, 3, opts...)), 0
	return fleet{connect: func(tb testing.TB) *Acts {
		tb.Helper()
		n++
		return connect(tb, fmt.Sprintf("quorate:%d", n), urls, nil)
	}}
}

func miniFleet() fleet {
	return fleet{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		connect: func(tb testing.TB) *Acts {
			tb.Helper()
			minis := redistest.MiniN(tb, 5)
			return connect(tb, "quorate", minis.URLs(), embedded(minis))
		},
	}
}

// onEvery runs f on real nodes, on real ones with the least privileged user,
// and on embedded ones.
func onEvery(t *testing.T, f func(t *testing.T, fl fleet)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, realFleet(t))
	})
	t.Run("acl", func(t *testing.T) {
		t.Parallel()
		f(t, realFleet(t, redistest.ACL("quorate", "secret", nodes.ACLRules("quorate"))))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, miniFleet())
	})
}

func TestActsConform(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, f fleet) {
		schedtest.RunActs(t, schedtest.ActsBackend{
			Hooks: f.Hooks,
			New: func(tb testing.TB) scheduler.Acts {
				tb.Helper()
				return f.connect(tb)
			},
			MaxOpen: smallMost,
		})
	})
}

func trigger(id string) scheduler.Act {
	return scheduler.Act{ID: id, Kind: scheduler.ActTrigger, Job: "job", By: "ann", Reason: "try it"}
}

func pause(id string) scheduler.Act {
	return scheduler.Act{ID: id, Kind: scheduler.ActPause, Job: "job", By: "ann", Reason: "broken"}
}

func (a *Acts) mustDo(tb testing.TB, act scheduler.Act) scheduler.Act {
	tb.Helper()
	act, err := a.Do(tb.Context(), act)
	if err != nil {
		tb.Fatalf("Do(%s) = %v", act.ID, err)
	}
	return act
}

func (a *Acts) mustOpen(tb testing.TB) scheduler.OpenActs {
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
