package redlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A hindrance makes a server refuse until it is undone.
type hindrance struct {
	text     string // of what the server says
	do, undo func(t *testing.T, s *redistest.Server)
}

func command(words ...any) func(*testing.T, *redistest.Server) {
	return func(t *testing.T, s *redistest.Server) {
		t.Helper()
		if err := s.Client().Do(t.Context(), words...).Err(); err != nil {
			t.Errorf("%v: %v", words, err)
		}
	}
}

func without(commands ...any) hindrance {
	rules := []any{"acl", "setuser", "quorate"}
	do, undo := append([]any{}, rules...), append([]any{}, rules...)
	for _, c := range commands {
		do, undo = append(do, "-"+c.(string)), append(undo, "+"+c.(string))
	}
	return hindrance{"the user lacks a permission", command(do...), command(undo...)}
}

// hindrances are reasons of a server to refuse that an operator can mend.
func hindrances() map[string]hindrance {
	list := map[string]hindrance{
		"OOM":        {"out of memory", command("config", "set", "maxmemory", "1"), command("config", "set", "maxmemory", "0")},
		"NOREPLICAS": {"enough replicas", command("config", "set", "min-replicas-to-write", "1"), command("config", "set", "min-replicas-to-write", "0")},
		"MISCONF": {
			"cannot save to disk",
			func(t *testing.T, s *redistest.Server) { saves(t, s, os.Mkdir(rdb(t, s), 0o700), "err") },
			func(t *testing.T, s *redistest.Server) { saves(t, s, os.Remove(rdb(t, s)), "ok") },
		},
		"WRONGPASS": {
			"rejects the user or password",
			func(t *testing.T, s *redistest.Server) {
				command("acl", "setuser", "quorate", "resetpass", ">other")(t, s)
				command("client", "kill", "user", "quorate")(t, s)
			},
			command("acl", "setuser", "quorate", ">secret"),
		},
	}
	for c := range strings.FieldsSeq("evalsha mget hset pexpire del mset zadd zrem set get zscore") {
		list["NOPERM "+c] = without(c)
	}
	return list
}

func rdb(t *testing.T, s *redistest.Server) string {
	t.Helper()
	return filepath.Join(s.Client().ConfigGet(t.Context(), "dir").Val()["dir"], "dump.rdb")
}

// saves makes the server save, which ends in the state.
func saves(t *testing.T, s *redistest.Server, err error, state string) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	command("config", "set", "save", "3600 1")(t, s)
	eventually(t, "a save ends: "+state, func() bool {
		s.Client().BgSave(t.Context())
		return strings.Contains(s.Client().Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:"+state)
	})
}

// refusable is a cluster whose servers can be made to refuse.
func refusable(t *testing.T, nodes int) (*cluster, []*redistest.Server) {
	t.Helper()
	servers := redistest.StartN(t, nodes, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))
	return newCluster(t, redistest.URLs(servers), func(cfg *membership.Config) {
		cfg.TTL, cfg.Grace = 12*time.Second, 13*time.Second
		cfg.Timeout = 2 * time.Second // of a busy machine; the servers answer at once
	}), servers
}

// eachHindrance tries with one and three nodes, and one hindrance after the other: they change the servers.
func eachHindrance(t *testing.T, try func(t *testing.T, name string, h hindrance, c *cluster, servers []*redistest.Server)) {
	t.Helper()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			c, servers := refusable(t, nodes)
			for name, h := range hindrances() {
				t.Run(name, func(t *testing.T) { try(t, name, h, c, servers) })
			}
		})
	}
}

// refusedFor is how long the end of a run is refused: there is time for its first try.
const refusedFor = 200 * time.Millisecond

// A run that ends while the nodes refuse is ended when they accept it, as long as its lease
// lasts. Nobody else gets the tick meanwhile.
func TestRefusedEndOnRedis(t *testing.T) {
	t.Parallel()
	eachHindrance(t, func(t *testing.T, name string, h hindrance, c *cluster, servers []*redistest.Server) {
		l, other, req := c.locker(t), c.locker(t), c.request(past(1))
		req.Name, req.Mode = "job "+name, locking.AtLeastOnce
		lease := mustAcquire(t, l, req)
		for _, s := range servers {
			h.do(t, s)
		}
		var working sync.WaitGroup
		defer working.Wait()
		var released error
		ended := make(chan struct{})
		working.Go(func() {
			defer close(ended)
			released = lease.Release(t.Context(), []byte(`{"v":1}`))
		})
		tries, until := 0, time.Now().Add(refusedFor)
		for time.Now().Before(until) || tries < 3 {
			if _, err := other.TryAcquire(t.Context(), req); err == nil {
				t.Error("the tick was claimed again, although its run has succeeded")
			}
			tries++
		}
		for _, s := range servers {
			h.undo(t, s)
		}
		<-ended
		if released != nil {
			t.Errorf("Release = %v", released)
		}
		if _, err := other.TryAcquire(t.Context(), req); !errors.Is(err, locking.ErrDone) {
			t.Errorf("%d tries: then TryAcquire = %v, want %v", tries, err, locking.ErrDone)
		}
	})
}

// A refused claim says why, leaves nothing that blocks the tick, and may be tried again.
func TestRefusedClaimOnRedis(t *testing.T) {
	t.Parallel()
	eachHindrance(t, func(t *testing.T, name string, h hindrance, c *cluster, servers []*redistest.Server) {
		l, other, req := c.locker(t), c.locker(t), c.request(past(1))
		req.Name, req.Direct = "job "+name, true
		for _, s := range servers {
			h.do(t, s)
		}
		for i := range 2 {
			req.Direct = i == 0
			lease, err := l.TryAcquire(t.Context(), req)
			if err == nil {
				mustVoid(t, lease) // a claim does without this command
				break
			}
			if text := err.Error(); !errors.Is(err, locking.ErrRefused) || !strings.Contains(text, h.text) || strings.Contains(text, "quorum") || strings.Contains(text, "not answer") {
				t.Errorf("TryAcquire = %v, want %v: %s", err, locking.ErrRefused, h.text)
			}
		}
		for _, s := range servers {
			h.undo(t, s)
		}
		eventually(t, "another replica gets the tick", func() bool {
			lease, err := other.TryAcquire(t.Context(), req)
			if err == nil {
				mustRelease(t, lease)
			}
			return err == nil
		})
	})
}

func mustVoid(t *testing.T, lease locking.Lease) {
	t.Helper()
	if err := lease.Void(t.Context()); err != nil && !errors.Is(err, locking.ErrRefused) {
		t.Errorf("Void = %v", err)
	}
}

// An extension that all nodes refuse says so, and another one succeeds.
func TestRefusedExtensionOnRedis(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		c, servers := refusable(t, nodes)
		h := without("evalsha", "eval")
		lease := mustAcquire(t, c.locker(t), c.request(past(1)))
		for _, s := range servers {
			h.do(t, s)
		}
		err := lease.Extend(t.Context())
		if text := err.Error(); !errors.Is(err, locking.ErrRefused) || errors.Is(err, locking.ErrLeaseLost) || !strings.Contains(text, h.text) || strings.Contains(text, "quorum") || strings.Contains(text, "not answer") {
			t.Errorf("%d nodes: Extend = %v, want %v: %s", nodes, err, locking.ErrRefused, h.text)
		}
		for _, s := range servers {
			h.undo(t, s)
		}
		if err := lease.Extend(t.Context()); err != nil {
			t.Errorf("%d nodes: then Extend = %v", nodes, err)
		}
	}
}
