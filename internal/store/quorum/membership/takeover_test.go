package membership_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// follow makes the server a replica of another one, and waits until it has its data.
func follow(t *testing.T, s, of *redistest.Server) {
	t.Helper()
	c := s.Client()
	c.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0")
	of.Client().ConfigSet(t.Context(), "repl-diskless-sync-delay", "0")
	if err := c.ReplicaOf(t.Context(), "127.0.0.1", of.Port()).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.AwaitReplicas(t, of, 1)
}

func promote(t *testing.T, c *redis.Client) {
	t.Helper()
	if err := c.ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
}

// A server that is promoted may lack what another one granted meanwhile. It abstains also if
// it was the master before, so that its run_id is the one that it has stored.
func TestPromotedServerAbstains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		durable bool
	}{{"by default", false}, {"durable", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := redistest.Start(t), redistest.Start(t)
			p := proxytest.New(t, a.Addr()) // the name behind which a server takes the place of another
			s := open(t, config([]string{"redis://" + p.Addr()}, func(cfg *membership.Config) { cfg.Durable = c.durable }))
			if err := s.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			floor := call(t, s, echo).Int(1)
			for range 2 {
				// b is promoted, nobody calls it, and a follows and is promoted again.
				follow(t, b, a)
				promote(t, b.Client())
				follow(t, a, b)
				promote(t, a.Client())
				r := call(t, s, echo)
				if moved := r.Int(1) > floor; r.Err != nil || moved == c.durable {
					t.Errorf("the floor was %d and is %d (%v)", floor, r.Int(1), r.Err)
				}
				if floor = r.Int(1); call(t, s, echo).Int(1) != floor {
					t.Error("the floor moves with each call")
				}
			}
		})
	}
}

// A node that denies INFO in scripts is used only if no restart of it loses anything.
func TestUnseenIncarnation(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		server := redistest.Start(t, redistest.ACL("quorate", "secret", "~* +@all -info"))
		s := open(t, config([]string{server.URL()}, func(cfg *membership.Config) { cfg.Durable = durable }))
		err := s.Init(t.Context(), false)
		if !durable {
			refused(t, err, "run_id cannot be read", "redis.durable")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		server.Restart(true)
		if r := call(t, s, echo); r.Err != nil || r.Int(1) != 20000 {
			t.Errorf("the floor is %d: %v", r.Int(1), r.Err)
		}
	}
}

// nameless is a server that tells no replication id.
type nameless struct{ client.Transport }

func (nameless) Info(context.Context, string) (string, error) {
	return "redis_version:7.2.4\r\nrun_id:r1\r\nrole:master\r\n", nil
}

func (nameless) Eval(context.Context, string, *client.Script, []string, []any) (any, error) {
	return []any{"BLANK", "1000"}, nil
}

// One Redis whose failover nobody could see is refused.
func TestUnseenFailover(t *testing.T) {
	t.Parallel()
	s := open(t, config([]string{"redis://127.0.0.1:1"}, func(cfg *membership.Config) { cfg.Transport = nameless{} }))
	refused(t, s.Init(t.Context(), false), "master_replid", "redis.durable")
}
