package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// refusal is a Locker's error for reason.
func refusal(reason error, nodes ...locking.NodeError) *locking.AcquireError {
	return &locking.AcquireError{Reason: reason, Name: "j", Nodes: nodes}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	down := []locking.NodeError{{Node: "a:1", Err: errors.New("refused")}, {Node: "b:2", Err: errors.New("timeout")}}
	held := refusal(locking.ErrTaken)
	held.Holder, held.HolderTick, held.Until = "r2", noon.Add(-time.Minute), noon.Add(1500*time.Millisecond)
	bare := refusal(locking.ErrTaken)
	rival := refusal(locking.ErrTaken)
	rival.Holder, rival.HolderTick = "r3", noon
	own, other := refusal(locking.ErrClaimed), refusal(locking.ErrClaimed)
	own.Holder, other.Holder = "r1", "r2"
	ended := errors.Join(refusal(locking.ErrNoQuorum), context.Canceled)

	tests := []struct {
		name    string
		err     error
		kind    kind           // while the window is open
		outcome ledger.Outcome // in the end
		reason  string
	}{
		{"done", refusal(locking.ErrDone), lost, "", ""},
		{"claimed", refusal(locking.ErrClaimed), lost, "", ""},
		{"claimed by another", other, lost, "", ""},
		{"claimed by an earlier try", own, again, ledger.Missed, "undecided: this replica gave up a claim of the tick, and could not tell enough nodes"},
		{"superseded", refusal(locking.ErrSuperseded), settled, ledger.Missed, "superseded: a later tick was claimed before this replica could claim this one"},
		{"unvouched", refusal(locking.ErrUnvouched, down...), settled, ledger.Missed, "unvouched: too few nodes can tell whether the tick has run: a:1: refused; b:2: timeout"},
		{"refused", refusal(locking.ErrRefused, down[0]), settled, ledger.Missed, "refused: the nodes refuse this replica: a:1: refused"},
		{"held by an earlier tick", held, again, ledger.Skipped, "overlap: r2 still holds the lease of tick 2026-11-21T11:59:00Z until 2026-11-21T12:00:01.5Z"},
		{"held by an unknown one", bare, again, ledger.Skipped, "overlap: another replica still holds the lease"},
		{"held, said without details", locking.ErrTaken, again, ledger.Skipped, "overlap: another run still holds the lease"},
		{"held for the same tick", rival, again, ledger.Missed, "undecided: r3 took the lock for this tick but never said that it runs it"},
		{"no quorum", refusal(locking.ErrNoQuorum, down...), again, ledger.Missed, "no quorum: a:1: refused; b:2: timeout"},
		{"split", refusal(locking.ErrSplit), again, ledger.Missed, "split vote: competing replicas divided the nodes until the window closed"},
		{"too slow", refusal(locking.ErrTooSlow), again, ledger.Missed, "too slow: the nodes took longer to answer than a lease lasts"},
		{"future", refusal(locking.ErrFuture), again, ledger.Missed, "clock: this replica's clock is too far ahead of the nodes'; check its time"},
		{"a node is ahead", refusal(locking.ErrNodeAhead), again, ledger.Missed, "clock: too few nodes are left without those whose clock is ahead of the others'"},
		{"wrapped", fmt.Errorf("round 1: %w", refusal(locking.ErrDone)), lost, "", ""},
		{"cut off", ended, again, ledger.Missed, "no quorum"},
		{"cancelled", context.Canceled, again, ledger.Missed, "this replica drained before it could claim the tick"},
		{"unknown", errors.New("boom"), again, ledger.Missed, "claim failed: boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := judge(tt.err, "r1")
			if v.kind != tt.kind {
				t.Fatalf("judge: kind %d, want %d", v.kind, tt.kind)
			}
			if v.kind == again {
				v = atWindowEnd(tt.err, tick{at: noon, until: noon.Add(time.Minute)})
				if v.kind != settled {
					t.Errorf("at the window's end: kind %d, want settled", v.kind)
				}
			}
			if v.outcome != tt.outcome || v.reason.String() != tt.reason {
				t.Errorf("got %q %q\nwant %q %q", v.outcome, v.reason, tt.outcome, tt.reason)
			}
		})
	}
}
