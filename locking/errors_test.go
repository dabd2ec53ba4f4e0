package locking_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

func TestNodeErrorNamesItsNodeOnce(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"it is blank":           "a:1: it is blank",
		"a:1: belongs to [b:1]": "a:1: belongs to [b:1]",
		"b:1: is the same one":  "a:1: b:1: is the same one",
	} {
		if got := (locking.NodeError{Node: "a:1", Err: errors.New(said)}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAcquireErrorSaysWhy(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	votes := locking.Votes{For: 1, Of: 5}
	for want, e := range map[string]locking.AcquireError{
		"j: lock is held by r1 with token 7 until 2026-11-21T12:00:00.005Z (1 of 5 votes)": {
			Reason: locking.ErrTaken, Holder: "r1", HolderToken: 7, Until: at,
		},
		"j: tick is claimed by r1 with token 7 for tick 2026-11-21T12:00:00.005Z (1 of 5 votes)": {
			Reason: locking.ErrClaimed, Holder: "r1", HolderToken: 7, HolderTick: at,
		},
		"j: competitors blocked one another (1 of 5 votes)": {Reason: locking.ErrSplit},
		"j: no quorum of nodes answered (1 of 5 votes; a: i/o timeout; b: it is down)": {
			Reason: locking.ErrNoQuorum, Nodes: []locking.NodeError{
				{Node: "a", Err: errors.New("i/o timeout")}, {Node: "b", Err: errors.New("it is down")},
			},
		},
		"j: validity was used up before the claim was complete (1 of 5 votes)": {Reason: locking.ErrTooSlow},
	} {
		e.Name, e.Votes = "j", votes
		if got := e.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if !errors.Is(&e, e.Reason) {
			t.Errorf("%v does not match its reason", &e)
		}
	}
}

// An error of a store without nodes has no votes.
func TestAcquireErrorWithoutNodes(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]locking.AcquireError{
		"j: lock is held by r1": {Reason: locking.ErrTaken, Holder: "r1"},
		"j: the store can no longer vouch for the tick (it is new)": {Reason: locking.ErrUnvouched, Nodes: []locking.NodeError{{Node: "store", Err: errors.New("it is new")}}},
		"j: validity was used up before the claim was complete":     {Reason: locking.ErrTooSlow},
	} {
		e.Name = "j"
		if got := e.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// The errors at the end of a lease match what callers check.
func TestEndsOfALease(t *testing.T) {
	t.Parallel()
	evicted := fmt.Errorf("extending: %w", &locking.EvictedError{Reason: "it hangs"})
	for _, tt := range []struct {
		err  error
		lost bool
	}{
		{locking.ErrLeaseLost, true}, {locking.ErrMaxHold, true}, {evicted, true}, {locking.ErrExpired, false},
	} {
		if got := errors.Is(tt.err, locking.ErrLeaseLost); got != tt.lost {
			t.Errorf("%v matches ErrLeaseLost: %t, want %t", tt.err, got, tt.lost)
		}
	}
	if errors.Is(locking.ErrLeaseLost, locking.ErrMaxHold) || errors.Is(evicted, locking.ErrMaxHold) {
		t.Error("not every lost lease was held too long")
	}
	if want := "extending: lease lost: released by an operator: it hangs"; evicted.Error() != want {
		t.Errorf("got %q, want %q", evicted, want)
	}
}
