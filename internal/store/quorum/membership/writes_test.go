package membership_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// hammer is a rule that writes in several ways.
var hammer = membership.NewScript("hammer", `redis.call('ZADD', KEYS[2], 1, 'x') redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'x', '1') redis.call('DEL', KEYS[2]) redis.call('SET', KEYS[2], 'x') return {'OK', nowtext}`)

// A node that answers and takes no writes does not vote, whatever the cause: while it joins, later,
// and when it is checked. It is heard again soon after it takes them.
func TestNodesThatTakeNoWrites(t *testing.T) {
	t.Parallel()
	config1 := func(key, value string) func(*testing.T, *redistest.Server) {
		return func(t *testing.T, s *redistest.Server) {
			t.Helper()
			if err := s.Client().ConfigSet(t.Context(), key, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	acl := func(rule string) func(*testing.T, *redistest.Server) {
		return func(t *testing.T, s *redistest.Server) {
			t.Helper()
			if err := s.Client().Do(t.Context(), "acl", "setuser", "quorate", rule).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil, mend func(*testing.T, *redistest.Server)
		want        string
	}{
		"no memory":   {config1("maxmemory", "1"), config1("maxmemory", "0"), "it is out of memory"},
		"no replicas": {config1("min-replicas-to-write", "1"), config1("min-replicas-to-write", "0"), "enough replicas follow it"},
		"no disk": {func(t *testing.T, s *redistest.Server) {
			t.Helper()
			c := s.Client()
			if err := os.RemoveAll(c.ConfigGet(t.Context(), "dir").Val()["dir"]); err != nil {
				t.Fatal(err)
			}
			config1("save", "3600 1")(t, s)
			c.BgSave(t.Context())
			redistest.Await(t, "saving fails", func(ctx context.Context) bool {
				return strings.Contains(c.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:err")
			})
		}, config1("stop-writes-on-bgsave-error", "no"), "it cannot save to disk"},
		"only reads": {acl("-hset"), acl("+hset"), "the user lacks a permission"},
		"no claims":  {acl("-zadd"), acl("+zadd"), "the user lacks a permission"},
		"no keys": {acl("resetkeys"), func(t *testing.T, s *redistest.Server) {
			t.Helper()
			acl("~{quorate}:*")(t, s)
			acl("~quorate:node")(t, s)
		}, "the user lacks a permission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := redistest.StartN(t, 3, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))
			cfg := config(redistest.URLs(servers))
			first := open(t, cfg)
			if err := first.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			votes := func(s *membership.Set) (n int) {
				for _, node := range s.NodeStates() {
					if node.Votes {
						n++
					}
				}
				return n
			}
			write := func(s *membership.Set) { s.Call(t.Context(), hammer, []string{s.Key("x")}) }
			s := open(t, cfg)
			if err := s.Join(t.Context()); err != nil {
				t.Fatal(err)
			}
			run(t, s)
			write(s)
			if n := votes(s); n != 3 {
				t.Fatalf("%d vote before", n)
			}
			c.spoil(t, servers[0])
			write(s)
			redistest.Await(t, "one does not vote", func(context.Context) bool { return votes(s) == 2 })
			if at, ok := s.QuorumVotesAt(); !ok || !at.IsZero() {
				t.Errorf("two of three vote, but it says %v, %v", at, ok)
			}
			checks := checked(t, first)
			if state := found(checks.Nodes[0], "state"); !strings.HasPrefix(state, "mend: ") || !strings.Contains(state, c.want) {
				t.Errorf("the check says %q, want %q", state, c.want)
			}
			if state := found(checks.Nodes[1], "state"); state != "" || checks.Next != "" {
				t.Errorf("the check of another says %q, and %q may be restarted", state, checks.Next)
			}
			if err := open(t, cfg).Join(t.Context()); err != nil {
				t.Errorf("with two of three nodes: %v", err)
			}
			c.spoil(t, servers[1])
			write(s)
			redistest.Await(t, "no quorum votes", func(context.Context) bool { _, ok := s.QuorumVotesAt(); return !ok })
			if text := errors.Join(s.Unusable()...).Error(); strings.Count(text, c.want) != 2 {
				t.Errorf("unusable: %s", text)
			}
			if err := open(t, cfg).Join(t.Context()); !errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("joining: %v, want %q", err, c.want)
			}
			for _, server := range servers[:2] {
				c.mend(t, server)
			}
			redistest.Await(t, "all vote", func(context.Context) bool { return votes(s) == 3 })
			if err := open(t, cfg).Join(t.Context()); err != nil {
				t.Errorf("joining when all is well: %v", err)
			}
			if keys := servers[0].Client().Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{"{quorate}:node", "{quorate}:x"}) && !slices.Equal(keys, []string{"{quorate}:x", "{quorate}:node"}) {
				t.Errorf("the probes have left %q", keys)
			}
		})
	}
}
