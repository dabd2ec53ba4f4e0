package redlock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A server that is restored from an old dump has another run_id: it abstains up to its
// floor (N0).
func TestNodeRestoredFromAnOldDump(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Conf("dbfilename former.rdb"))
	r := newLossRig(t, server)
	r.claim(1)
	if err := server.Client().Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.claim(2)
	server.Restart(false) // killed; it reads the dump when it starts again
	if server.Client().Exists(t.Context(), "{quorate}:job:job:fence").Val() == 0 {
		t.Fatal("the server did not start from the dump")
	}
	r.testForgotten(t)
}

// A promoted replica is another server, with the data that reached it in time (N0).
func TestFailedOverNode(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, redistest.Conf("repl-diskless-sync-delay 0"))
	standby := redistest.Start(t, redistest.Conf("replicaof 127.0.0.1 "+master.Port()))
	redistest.AwaitReplicas(t, master, 1) // the first one changes the replication id
	r := newLossRig(t, master)
	r.claim(1)
	first := master.Client().Get(t.Context(), "{quorate}:job:job:fence").Val()
	eventually(t, "the standby has the first claim", func() bool {
		return standby.Client().Get(t.Context(), "{quorate}:job:job:fence").Val() == first
	})
	if err := standby.Client().ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	r.claim(2) // never reaches the standby
	r.lead(standby)
	r.testForgotten(t)
}

// A server that was wiped while it ran is blank: it has no vote before it is
// formatted again, and abstains then (N0, M1).
func TestWipedNode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newLossRig(t, server)
	r.claim(1)
	r.claim(2)
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	r.testForgotten(t)
}

// Another cluster's server at the address holds nothing of this namespace, and
// counts as a node that has lost its memory (M1).
func TestNodeOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	server, other := redistest.Start(t), redistest.Start(t)
	newCluster(t, []string{other.URL()}, inNamespace(2))
	r := newLossRig(t, server)
	r.claim(1)
	r.claim(2)
	r.lead(other)
	r.testForgotten(t)
}

// A server of another list at the address refuses (N1), and is left as it is.
func TestNodeOfAnotherList(t *testing.T) {
	t.Parallel()
	server, other := redistest.Start(t), redistest.Start(t)
	newCluster(t, []string{other.URL()}, func(cfg *membership.Config) { cfg.Grace, cfg.TTL, cfg.Timeout = lossGrace, lossTTL, lossTimeout })
	before := other.Client().HGetAll(t.Context(), "{quorate}:node").Val()
	r := newLossRig(t, server)
	r.claim(1)
	r.claim(2)
	r.lead(other)
	var err error
	eventually(t, "the node refuses", func() bool {
		if _, err = r.locker.TryAcquire(t.Context(), r.request(3)); err == nil {
			t.Fatal("a node of another list has voted")
		}
		return errors.Is(err, locking.ErrRefused)
	})
	if !strings.Contains(err.Error(), "belongs to the list ["+other.Addr()+"]") {
		t.Errorf("it does not say what the node holds: %v", err)
	}
	if now := other.Client().HGetAll(t.Context(), "{quorate}:node").Val(); now["member"] != before["member"] {
		t.Errorf("the node was taken over: %v", now)
	}
}

// Leases and graces of these tests, which wait for one to pass.
const (
	lossTimeout = time.Second
	lossTTL     = 4100 * time.Millisecond
	lossGrace   = 4500 * time.Millisecond
)

// A lossRig is a cluster of one node, at an address that may lead to another
// server later, and a replica of it that has two claims.
type lossRig struct {
	t       *testing.T
	proxy   *proxytest.Proxy
	locker  *Locker
	set     *membership.Set
	ttl     time.Duration
	base    time.Time
	token   locking.Token // of the latest claim
	claimed time.Time     // when that was asked for
}

func newLossRig(t *testing.T, server *redistest.Server) *lossRig {
	t.Helper()
	proxy := proxytest.New(t, server.Addr())
	c := newCluster(t, []string{"redis://" + proxy.Addr()}, func(cfg *membership.Config) { cfg.Grace, cfg.TTL, cfg.Timeout = lossGrace, lossTTL, lossTimeout })
	return &lossRig{t: t, proxy: proxy, locker: c.locker(t), set: c.open(t), ttl: lossTTL, base: time.Now().Truncate(time.Second).Add(-10 * time.Second)}
}

// request is one for the n-th tick.
func (r *lossRig) request(n int) locking.Request {
	return locking.Request{Name: "job", Tick: r.base.Add(time.Duration(n) * time.Second), TTL: r.ttl}
}

// claim claims and finishes the n-th tick.
func (r *lossRig) claim(n int) {
	r.t.Helper()
	eventually(r.t, "the tick is granted", func() bool {
		r.claimed = time.Now()
		lease, err := r.locker.TryAcquire(r.t.Context(), r.request(n))
		if err != nil {
			return false
		}
		r.token = lease.Claim().Token
		_ = lease.Release(r.t.Context(), nil)
		return true
	})
}

// lead has the address lead to another server from now on.
func (r *lossRig) lead(to *redistest.Server) {
	r.proxy.Target(to.Addr())
	r.proxy.Break()
}

// testForgotten wants the node, which may have forgotten the second tick, to
// remember since the fault only, and not to grant that tick until it grants a
// tick of now, with a larger token.
func (r *lossRig) testForgotten(t *testing.T) {
	t.Helper()
	eventually(t, "a new tick is granted", func() bool {
		if _, err := r.locker.TryAcquire(t.Context(), r.request(2)); err == nil {
			t.Fatal("the tick was granted again")
		}
		req := r.request(0)
		req.Tick = time.Now().Truncate(time.Second)
		lease, err := r.locker.TryAcquire(t.Context(), req)
		if err != nil {
			return false
		}
		if got := lease.Claim().Token; got <= r.token {
			t.Errorf("token %d after %d", got, r.token)
		}
		_ = lease.Release(t.Context(), nil)
		return true
	})
	var st health.Node
	eventually(t, "the node says since when it remembers", func() bool {
		st = r.set.Inspect(t.Context())[0]
		return st.Err == nil
	})
	if !st.Since.After(r.claimed) {
		t.Errorf("after the fault the node remembers since %v, it granted the tick at %v", st.Since, r.claimed)
	}
}
