package redlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// shortly are members whose grace is over soon. The timeout allows for a busy machine.
func shortly() Config {
	return Config{Timeout: time.Second, TTL: 5 * time.Second, Grace: 5*time.Second + time.Millisecond}
}

func open(t *testing.T, cfg Config) *Locker {
	t.Helper()
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Errorf("closing, and again: %v", err)
		}
	})
	return l
}

// Nodes by URL, and by clients that the program has already, are the same nodes.
func TestOpen(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))
	byURL := Config{New: true, Timeout: 3 * time.Second}
	byClient := byURL
	for _, s := range servers {
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), Username: "quorate", Password: "secret"})
		t.Cleanup(func() { _ = client.Close() })
		byURL.Nodes, byClient.Clients = append(byURL.Nodes, s.URL()), append(byClient.Clients, client)
	}
	a, b := open(t, byURL), open(t, byClient)
	err := locking.Do(t.Context(), a, "stock", func(ctx context.Context, claim locking.Claim) error {
		if _, err := b.TryAcquire(ctx, locking.Request{Name: "stock"}); !errors.Is(err, locking.ErrTaken) {
			t.Errorf("the other gets %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	c := open(t, byClient) // New, of nodes that have served meanwhile
	if err := locking.Do(t.Context(), c, "stock", func(context.Context, locking.Claim) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesOddClients(t *testing.T) {
	t.Parallel()
	one := redis.NewClient(&redis.Options{Addr: "localhost:1", DB: 3})
	defer one.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}})
	defer ring.Close()
	for want, c := range map[string]redis.UniversalClient{"database 3": one, "*redis.Ring is no node": ring} {
		if l, err := Open(t.Context(), Config{Clients: []redis.UniversalClient{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, %v, want %q", l, err, want)
		}
	}
}

// Nodes that were not declared new may have lost their memory: Open waits until they vote,
// or returns since when they would have.
func TestOpenWaitsForTheGrace(t *testing.T) {
	t.Parallel()
	cfg := shortly()
	for _, s := range redistest.StartN(t, 3) {
		cfg.Nodes = append(cfg.Nodes, s.URL())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if l, err := Open(ctx, cfg); !errors.Is(err, locking.ErrUnvouched) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too early: %v, %v", l, err)
	}
	// How far a node's clock is ahead is known within half a round trip, which a busy machine makes long.
	if _, err := locking.Acquire(t.Context(), open(t, cfg), locking.Request{Name: "stock"}, locking.Retry{}); err != nil {
		t.Error(err)
	}
}

// Too few nodes are no reason to wait.
func TestOpenWithoutAQuorum(t *testing.T) {
	t.Parallel()
	cfg := Config{Nodes: []string{redistest.Start(t).URL(), "redis://127.0.0.1:1", "redis://127.0.0.1:2"}, New: true}
	if l, err := Open(t.Context(), cfg); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Open = %v, %v", l, err)
	}
}

// A lock lasts as long as its request says, up to the grace. The nodes' own TTL is for
// requests without one.
func TestOwnTTL(t *testing.T) {
	t.Parallel()
	l := open(t, Config{Nodes: []string{redistest.Start(t).URL()}, New: true, Timeout: time.Second, TTL: 5 * time.Second, Grace: time.Minute})
	for name, c := range map[string]struct{ ttl, lasts time.Duration }{
		"default": {0, 5 * time.Second}, "longer": {time.Minute - time.Millisecond, time.Minute},
	} {
		lease, err := l.TryAcquire(t.Context(), locking.Request{Name: name, TTL: c.ttl})
		if err != nil {
			t.Fatal(err)
		}
		if left := locking.Left(lease); left > c.lasts || left < c.lasts/2 {
			t.Errorf("%s: it lasts %v, want %v", name, left, c.lasts)
		}
	}
	if _, err := l.TryAcquire(t.Context(), locking.Request{Name: "too long", TTL: time.Minute}); err == nil || !strings.Contains(err.Error(), "less than the restart grace") {
		t.Errorf("as long as the grace: %v", err)
	}
}
