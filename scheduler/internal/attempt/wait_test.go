package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestStagger(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name       string
		step       time.Duration
		rank       int
		room, want time.Duration
	}{
		{"the first does not wait", 20 * ms, 0, time.Second, 0},
		{"the third waits two steps", 20 * ms, 2, time.Second, 40 * ms},
		{"switched off", -1, 7, time.Second, 0},
		{"half of the window is left for retries", 20 * ms, 40, time.Second, 500 * ms},
		{"window already closed", 20 * ms, 3, -ms, 0},
	}
	for _, tt := range tests {
		if got := Stagger(tt.step, tt.rank, tt.room); got != tt.want {
			t.Errorf("%s: waits %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRetryDelayDoublesToItsLimit(t *testing.T) {
	t.Parallel()
	longest := func(limit time.Duration) time.Duration { return limit }
	for i, want := range []int{21, 41, 81, 161, 251, 251, 251} {
		if got := retryDelay(i+1, 0, longestRetry, longest); got != time.Duration(want)*time.Millisecond {
			t.Errorf("after %d tries: up to %v, want %d ms", i+1, got, want)
		}
	}
	if got := retryDelay(1_000_000, 0, longestRetry, longest); got != 251*time.Millisecond {
		t.Errorf("after a million tries: up to %v, want 251 ms", got)
	}
	if got := retryDelay(1_000_000, 0, longestWait, longest); got != longestWait+time.Millisecond {
		t.Errorf("after a million tries behind a long run: up to %v, want 4.001 s", got)
	}
	if got := retryDelay(1, 300*time.Millisecond, longestRetry, longest); got != 1201*time.Millisecond {
		t.Errorf("after a try of 300 ms: up to %v, want four times as long", got)
	}
	if got := retryDelay(3, 0, longestRetry, func(time.Duration) time.Duration { return 0 }); got <= 0 {
		t.Errorf("shortest pause is %v: replicas would spin", got)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// refusal is a Locker's error for reason.
func refusal(reason error, nodes ...locking.NodeError) *locking.AcquireError {
	return &locking.AcquireError{Reason: reason, Name: "j", Nodes: nodes, Votes: locking.Votes{Of: 5}}
}

// onOne is that of a store without nodes.
func onOne(reason error, why string) *locking.AcquireError {
	return &locking.AcquireError{Reason: reason, Name: "j", Nodes: []locking.NodeError{{Node: "store", Err: errors.New(why)}}}
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
		kind    job.Kind       // while the window is open
		outcome ledger.Outcome // in the end
		reason  string
	}{
		{"done", refusal(locking.ErrDone), job.Lost, "", ""},
		{"claimed", refusal(locking.ErrClaimed), job.Lost, "", ""},
		{"claimed by another", other, job.Lost, "", ""},
		{"claimed by an earlier try", own, job.Again, ledger.Missed, "undecided: this replica gave up a claim of the tick, and could not tell the store"},
		{"superseded", refusal(locking.ErrSuperseded), job.Settled, ledger.Missed, "superseded: a later tick was claimed before this replica could claim this one"},
		{"unvouched", refusal(locking.ErrUnvouched, down...), job.Settled, ledger.Missed, "unvouched: the store can no longer tell whether the tick has run: a:1: refused; b:2: timeout"},
		{"refused", refusal(locking.ErrRefused, down[0]), job.Again, ledger.Missed, "refused: the store refuses the claim: a:1: refused"},
		{"held by an earlier tick", held, job.Again, ledger.Skipped, "overlap: r2 still holds the lease of tick 2026-11-21T11:59:00Z until 2026-11-21T12:00:01.5Z"},
		{"held by an unknown one", bare, job.Again, ledger.Skipped, "overlap: another replica still holds the lease"},
		{"held, said without details", locking.ErrTaken, job.Again, ledger.Skipped, "overlap: another run still holds the lease"},
		{"held for the same tick", rival, job.Again, ledger.Missed, "undecided: r3 took the lock for this tick but never said that it runs it"},
		{"held by a competitor without a claim", refusal(locking.ErrUnclaimed), job.Again, ledger.Missed, "undecided: another replica took the lock and has not claimed a tick with it"},
		{"no quorum", refusal(locking.ErrNoQuorum, down...), job.Again, ledger.Missed, "no quorum: a:1: refused; b:2: timeout"},
		{"split", refusal(locking.ErrSplit), job.Again, ledger.Missed, "split: competing replicas blocked one another until the window closed"},
		{"too slow", refusal(locking.ErrTooSlow), job.Again, ledger.Missed, "too slow: the claim was complete too late for its lease; the store was slow, or this replica was frozen or busy"},
		{"future", refusal(locking.ErrFuture), job.Again, ledger.Missed, "clock: this replica's clock is too far ahead of the store's; check its time"},
		{"a node is ahead", refusal(locking.ErrNodeAhead), job.Again, ledger.Missed, "clock: too few nodes are left without those whose tokens are ahead of the clocks"},
		{"one store does not answer", onOne(locking.ErrNoQuorum, "connection refused"), job.Again, ledger.Missed, "the store did not answer: connection refused"},
		{"one store does not answer a look", onOne(locking.ErrSilent, "timeout"), job.Again, ledger.Missed, "the store did not answer: timeout"},
		{"one store is behind its tokens", onOne(locking.ErrNodeAhead, "by 3s"), job.Again, ledger.Missed, "clock: the clock of the store is behind its tokens: by 3s"},
		{"one store has forgotten", onOne(locking.ErrUnvouched, "it is new"), job.Settled, ledger.Missed, "unvouched: the store can no longer tell whether the tick has run: it is new"},
		{"wrapped", fmt.Errorf("round 1: %w", refusal(locking.ErrDone)), job.Lost, "", ""},
		{"cut off", ended, job.Again, ledger.Missed, "no quorum"},
		{"cancelled", context.Canceled, job.Again, ledger.Missed, "this replica drained before it could claim the tick"},
		{"unknown", errors.New("boom"), job.Again, ledger.Missed, "claim failed: boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, _ := judge(tt.err, "r1")
			if v.Kind != tt.kind {
				t.Fatalf("judge: kind %d, want %d", v.Kind, tt.kind)
			}
			if v.Kind == job.Again {
				v = atWindowEnd(tt.err, job.Tick{At: noon, Until: noon.Add(time.Minute)})
				if v.Kind != job.Settled {
					t.Errorf("at the window's end: kind %d, want settled", v.Kind)
				}
			}
			if v.Outcome != tt.outcome || v.Reason.String() != tt.reason {
				t.Errorf("got %q %q\nwant %q %q", v.Outcome, v.Reason, tt.outcome, tt.reason)
			}
		})
	}
}
