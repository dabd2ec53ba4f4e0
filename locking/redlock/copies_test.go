package redlock

import (
	"errors"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
)

// newCopied makes a cluster of one master, which has a replica.
func newCopied(t *testing.T, copies int) (c *cluster, replica *redistest.Server) {
	t.Helper()
	master := redistest.Start(t)
	replica = redistest.StartReplicas(t, master, 1)[0]
	return newCluster(t, []string{master.URL()}, func(cfg *members.Config) { cfg.Copies = copies }), replica
}

// A master whose replica does not have a claim does not grant it: the replica may take its
// place, and grant the same tick.
func TestClaimNeedsItsCopies(t *testing.T) {
	t.Parallel()
	c, replica := newCopied(t, 1)
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
		c, replica := newCopied(t, copies)
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
		c, replica := newCopied(t, copies)
		l := c.locker(t)
		if err := replica.Client().ReplicaOf(t.Context(), "no", "one").Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.TryAcquire(t.Context(), c.request(past(1))); (err == nil) != want {
			t.Errorf("%d copies: %v", copies, err)
		}
	}
}
