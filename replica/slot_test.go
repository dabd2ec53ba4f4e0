package replica

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// When the slot of a namespace moves to another master of a Redis Cluster, replicas go on there after
// a grace, with all claims: no tick runs twice, and tokens grow. They say that the slot has moved.
func TestMovedSlot(t *testing.T) {
	t.Parallel()
	list := redistest.StartCluster(t, 0)
	at := settings.Redis{NodeTimeout: time.Second, RestartGrace: 8 * time.Second}
	for _, url := range redistest.URLs(list) {
		at.Cluster.Addresses = append(at.Cluster.Addresses, settings.Secret(url))
	}
	set, err := membership.Open(membership.Config{Nodes: []membership.NodeConfig{{Name: membership.SingleName, Seeds: redistest.URLs(list)}}, Grace: at.RestartGrace, TTL: 6 * time.Second, Timeout: at.NodeTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	redistest.Await(t, "the store to be declared new", func(ctx context.Context) bool { return set.Init(ctx, false) == nil })

	var ran ranTicks
	var logs [2]logtest.Buffer
	for i := range logs {
		r, err := New(Config{Replica: settings.Replica{ID: []string{"a", "b"}[i]}, Namespace: config.Default().Namespace, Redis: at, Lock: settings.Lock{TTL: 6 * time.Second}, Logger: logTo(&logs[i]), Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: ran.run}}})
		if err != nil {
			t.Fatal(err)
		}
		defer start(t.Context(), r)()
	}
	count := func() int {
		ran.mu.Lock()
		defer ran.mu.Unlock()
		return len(ran.tokens)
	}
	redistest.Await(t, "ticks", func(context.Context) bool { return count() > 3 })
	from, to := redistest.MoveSlot(t, list, set.Key("node"))
	moved := time.Now()
	for i := range logs {
		redistest.Await(t, "the replica to tell of it", func(context.Context) bool {
			return strings.Contains(logs[i].String(), `why="the slot of the namespace has moved from `+from.Addr()+" to "+to.Addr()+`"`)
		})
	}
	before := count()
	redistest.Await(t, "ticks after the grace", func(context.Context) bool { return count() > before+3 })
	ran.mu.Lock()
	defer ran.mu.Unlock()
	for tick, tokens := range ran.tokens {
		if len(tokens) > 1 {
			t.Errorf("the tick %v ran with the tokens %v", tick, tokens)
		}
		for other, later := range ran.tokens {
			if other.After(tick) && later[0] <= tokens[0] {
				t.Errorf("the tick %v has token %d, and %v has %d", tick, tokens[0], other, later[0])
			}
		}
		if since := tick.Sub(moved); since > time.Second && since < at.RestartGrace-time.Second {
			t.Errorf("a tick ran %v after the slot had moved, within the grace", since)
		}
	}
	for i := range logs {
		if text := logs[i].String(); strings.Contains(text, "restarted") {
			t.Errorf("a replica tells of a restart:\n%s", text)
		}
	}
}
