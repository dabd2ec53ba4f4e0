package membership_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A replica says why a node may have forgotten, as far as it is known: whose server has taken over,
// or which clock has changed. A restart is in TestRestartMovesTheFloor.
func TestWhyANodeForgot(t *testing.T) {
	t.Parallel()
	one := func(node membership.NodeConfig) membership.Config {
		node.Name = membership.SingleName
		return membership.Config{Timeout: 3 * time.Second, Nodes: []membership.NodeConfig{node}}
	}
	t.Run("moved slot", func(t *testing.T) {
		t.Parallel()
		list := redistest.StartCluster(t, 0)
		c := one(membership.NodeConfig{Seeds: redistest.URLs(list)})
		e, s := joined(t, c)
		from, to := redistest.MoveSlot(t, list, s.Key("node"))
		forgets(t, s, e, "restarted redis: the slot of the namespace has moved from "+from.Addr()+" to "+to.Addr())
	})
	t.Run("failover", func(t *testing.T) {
		t.Parallel()
		master := redistest.Start(t)
		replica := redistest.StartReplicas(t, master, 1)[0]
		watchers := redistest.StartSentinels(t, master.Addr(), 1)
		e, s := joined(t, one(membership.NodeConfig{Master: redistest.MasterName, Seeds: redistest.URLs(watchers)}))
		ask := redis.NewSentinelClient(watchers[0].Client().Options())
		t.Cleanup(func() { _ = ask.Close() })
		redistest.Await(t, "the failover", func(ctx context.Context) bool { return ask.Failover(ctx, redistest.MasterName).Err() == nil })
		redistest.Await(t, "the new master", func(ctx context.Context) bool { return replica.Client().Do(ctx, "role").Val().([]any)[0] == "master" })
		forgets(t, s, e, "restarted redis: the master is "+replica.Addr()+" now, and was "+master.Addr())
	})
	t.Run("clock", func(t *testing.T) {
		t.Parallel()
		minis := redistest.MiniN(t, 1)
		c := config(minis.URLs(), embedded(minis))
		minis.Node(0).SetTime(time.Now().Add(time.Hour))
		e := watch(&c)
		s := open(t, c)
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		call(t, s, echo)
		minis.Node(0).SetTime(time.Now())
		forgets(t, s, e, "restarted "+s.Nodes()[0].Name()+": the clock of "+s.Nodes()[0].Name()+" was ahead, or has been set back")
	})
}

// joined opens a Set on nodes that are declared new. On a busy machine that may take longer than a call.
func joined(t *testing.T, c membership.Config) (*events, *membership.Set) {
	t.Helper()
	e := watch(&c)
	s := open(t, c)
	redistest.Await(t, "the store to be declared new", func(ctx context.Context) bool { return s.Init(ctx, false) == nil })
	redistest.Await(t, "an answer", func(context.Context) bool { return call(t, s, echo).Err == nil })
	return e, s
}

// forgets calls the node until the observer has heard why it may have forgotten.
func forgets(t *testing.T, s *membership.Set, e *events, want string) {
	t.Helper()
	redistest.Await(t, want, func(context.Context) bool {
		call(t, s, echo)
		return strings.Contains(e.String(), "restarted ")
	})
	if !strings.Contains(e.String(), want) {
		t.Errorf("events: %v, want %s", e, want)
	}
}
