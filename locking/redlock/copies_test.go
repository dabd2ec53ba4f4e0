package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// newCopied makes a cluster of one master, which has a replica.
func newCopied(t *testing.T, copies int) (c *cluster, master, replica *redistest.Server) {
	t.Helper()
	master = redistest.Start(t)
	replica = redistest.StartReplicas(t, master, 1)[0]
	return newCluster(t, []string{master.URL()}, func(cfg *membership.Config) { cfg.Copies = copies }), master, replica
}

// A master whose replica does not have a claim does not grant it: the replica may take its
// place, and grant the same tick.
func TestClaimNeedsItsCopies(t *testing.T) {
	t.Parallel()
	c, _, replica := newCopied(t, 1)
	l := c.locker(t)
	mustRelease(t, mustAcquire(t, l, c.request(past(1))))
	replica.Freeze()
	_, err := l.TryAcquire(t.Context(), c.request(past(2)))
	if !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "0 of the 1 replicas of the server have it") {
		t.Errorf("without its copy: %v", err)
	}
	replica.Thaw()
	mustRelease(t, mustAcquire(t, l, c.request(past(3))))
}

// A lease that was granted is not extended without its copies, nor is it with another master
// beside this one.
func TestExtensionNeedsItsCopies(t *testing.T) {
	t.Parallel()
	for copies, want := range []bool{true, false} {
		c, _, replica := newCopied(t, copies)
		lease := mustAcquire(t, c.locker(t), c.request(past(1)))
		if err := replica.Client().ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
			t.Fatal(err)
		}
		if err := lease.Extend(t.Context()); (err == nil) != want {
			t.Errorf("%d copies: Extend = %v", copies, err)
		}
	}
}

// With no copies a master that lives beside its successor goes on granting.
func TestOldMasterGrants(t *testing.T) {
	t.Parallel()
	for copies, want := range []bool{true, false} {
		c, _, replica := newCopied(t, copies)
		l := c.locker(t)
		if err := replica.Client().ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.TryAcquire(t.Context(), c.request(past(1))); (err == nil) != want {
			t.Errorf("%d copies: %v", copies, err)
		}
	}
}

// A claim whose copies a master refuses to count was made all the same, and is taken back.
func TestUncountedClaimIsVoid(t *testing.T) {
	t.Parallel()
	c, master, _ := newCopied(t, 1)
	l, req := c.locker(t), c.request(past(1))
	req.Direct = true
	acl := func(rule string) {
		if err := master.Client().ACLSetUser(t.Context(), "default", rule).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("-wait")
	_, err := l.TryAcquire(t.Context(), req)
	if !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "did not say how many of its 1 replicas") {
		t.Errorf("without WAIT: %v", err)
	}
	acl("+wait")
	mustRelease(t, mustAcquire(t, l, req))
}

// The end of a lease counts only with its copies, however often it is asked for, on whichever
// connection. Each request writes: since Redis 7.2 WAIT ignores those that do not.
func TestRepeatedEndNeedsItsCopies(t *testing.T) {
	t.Parallel()
	c, master, replica := newCopied(t, 1)
	lease := mustAcquire(t, c.locker(t), c.request(past(1)))
	replica.Freeze()
	for range 3 {
		before := dirty(t, master)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // after one round
		if err := lease.Release(ctx, nil); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("Release = %v", err)
		}
		if dirty(t, master) == before {
			t.Error("an end was answered that wrote nothing")
		}
		if err := master.Client().ClientKillByFilter(t.Context(), "type", "normal", "skipme", "yes").Err(); err != nil {
			t.Fatal(err)
		}
	}
	replica.Thaw()
	mustRelease(t, lease)
}

// dirty is the server's count of changes to its data.
func dirty(t *testing.T, s *redistest.Server) string {
	t.Helper()
	info, err := s.Client().InfoMap(t.Context(), "persistence").Result()
	if err != nil {
		t.Fatal(err)
	}
	return info["Persistence"]["rdb_changes_since_last_save"]
}

// One Redis that keeps everything is no node that votes: errors speak of a store.
func TestOneStoreIsNoNode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := newCluster(t, []string{server.URL()}, func(cfg *membership.Config) { cfg.Nodes[0].Name = membership.SingleName })
	l := c.locker(t)
	lease := mustAcquire(t, l, c.request(past(1)))
	server.Kill()
	_, refused := l.TryAcquire(t.Context(), c.request(past(2)))
	for _, err := range []error{refused, lease.Extend(t.Context())} {
		if text := fmt.Sprint(err); !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(text, "the store does not answer") || strings.Contains(text, "votes") || strings.Contains(text, "agreed") {
			t.Errorf("got %v", err)
		}
	}
}
