package interop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ttl outlasts the test on the busiest machine; nothing here waits for its end.
const ttl = 5 * time.Minute

// A foreign client and ours exclude each other, whoever comes first, and let
// each other in when they are done.
func TestForeignClients(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	set, ours := open(t, servers)
	for name, theirs := range clients(t, servers) {
		t.Run(name, func(t *testing.T) {
			job := strings.ReplaceAll(name, " ", "-")
			key := set.JobKey(job, "lock")
			req := locking.Request{Name: job, TTL: ttl, Holder: "ours"}

			// A release returns when a quorum has it.
			check := func(name string, f func(t *testing.T)) {
				awaitGone(t, key, servers)
				t.Run(name, f)
			}
			check("they are kept out while we hold it", func(t *testing.T) { weHold(t, ours, theirs, req, key) })
			check("we are kept out while they hold it", func(t *testing.T) { theyHold(t, ours, theirs, req, key) })
			check("a tick as well", func(t *testing.T) {
				tick := req
				tick.Tick = time.Now().Add(-time.Second).Truncate(time.Millisecond)
				theyHold(t, ours, theirs, tick, key)
			})
			check("their lock that ended is ours to take", func(t *testing.T) { theirsEnds(t, ours, theirs, req, key, servers) })
			check("their minority does not keep us out", func(t *testing.T) { theyHoldTwo(t, ours, theirs, req, key, servers) })
		})
	}
}

func weHold(t *testing.T, ours locking.Locker, theirs foreign, req locking.Request, key string) {
	lease := acquire(t, ours, req)
	if err := theirs.lock(key, ttl); err == nil {
		t.Fatal("they have the lock that we hold")
	}
	if err := lease.Extend(t.Context()); err != nil {
		t.Errorf("their try cost us the lease: %v", err)
	}
	if err := theirs.lock(key, ttl); err == nil {
		t.Fatal("they have the lock that we hold and extended")
	}
	if err := lease.Release(t.Context(), nil); err != nil {
		t.Fatalf("their tries cost us the release: %v", err)
	}
	if err := theirs.lock(key, ttl); err != nil {
		t.Fatalf("our release does not let them in: %v", err)
	}
	if err := theirs.unlock(key); err != nil {
		t.Fatal(err)
	}
}

func theyHold(t *testing.T, ours locking.Locker, theirs foreign, req locking.Request, key string) {
	if err := theirs.lock(key, ttl); err != nil {
		t.Fatal(err)
	}
	refused(t, ours, req)
	if err := theirs.extend(key, ttl); err != nil {
		t.Errorf("our try cost them the lock: %v", err)
	}
	refused(t, ours, req)
	if err := theirs.unlock(key); err != nil {
		t.Fatalf("our tries cost them the release: %v", err)
	}
	if err := acquire(t, ours, req).Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// theirsEnds ends their lock as its expiry would: on the servers.
func theirsEnds(t *testing.T, ours locking.Locker, theirs foreign, req locking.Request, key string, servers []*redistest.Server) {
	if err := theirs.lock(key, ttl); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if err := s.Client().PExpire(t.Context(), key, time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
	}
	awaitGone(t, key, servers)
	lease := acquire(t, ours, req)
	_ = theirs.unlock(key) // some of them do not notice that it is too late
	if err := lease.Extend(t.Context()); err != nil {
		t.Errorf("their late release cost us the lease: %v", err)
	}
	if err := lease.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// awaitGone waits until no server has the key.
func awaitGone(t *testing.T, key string, servers []*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		for c := s.Client(); c.Exists(t.Context(), key).Val() == 1; {
			if t.Context().Err() != nil {
				t.Fatal("the lock never ends")
			}
		}
	}
}

// theyHoldTwo leaves a foreign value on two of the five nodes, as a client that
// died half way does.
func theyHoldTwo(t *testing.T, ours locking.Locker, theirs foreign, req locking.Request, key string, servers []*redistest.Server) {
	for _, s := range servers[:2] {
		if err := s.Client().Set(t.Context(), key, "somebody", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	lease := acquire(t, ours, req)
	if err := theirs.lock(key, ttl); err == nil {
		t.Error("they have a lock of which we hold a quorum")
	}
	if err := lease.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// open returns our client of nodes that are new.
func open(t *testing.T, servers []*redistest.Server) (*membership.Set, *redlock.Locker) {
	t.Helper()
	cfg := membership.Config{Namespace: "interop", Timeout: 5 * time.Second, TTL: ttl, Grace: ttl + time.Second}
	for _, url := range redistest.URLs(servers) {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: url})
	}
	set, err := membership.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	if err := set.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	l, err := redlock.New(set, redlock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return set, l
}

func acquire(t *testing.T, l locking.Locker, req locking.Request) locking.Lease {
	t.Helper()
	lease, err := l.TryAcquire(context.WithoutCancel(t.Context()), req)
	if err != nil {
		t.Fatalf("we do not get the lock: %v", err)
	}
	return lease
}

// refused asks for the lock and must be told that it is held, and until when.
func refused(t *testing.T, l locking.Locker, req locking.Request) {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), req)
	if err == nil {
		_ = lease.Void(t.Context())
		t.Fatal("we have the lock that they hold")
	}
	if why, ok := errors.AsType[*locking.AcquireError](err); !ok || !errors.Is(err, locking.ErrTaken) || why.Until.IsZero() {
		t.Errorf("we are refused with %v, want: held, and until when", err)
	}
}
