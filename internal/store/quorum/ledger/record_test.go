package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A replica whose clock is an hour ahead records nothing of ticks that have not come.
func TestRecordOfTheFuture(t *testing.T) {
	t.Parallel()
	c := connect(t, redistest.MiniN(t, 3).Cluster())
	e := skipped("job", 0, "an earlier run goes on")
	e.Tick = time.Now().Add(time.Hour).Truncate(time.Second)
	if _, err := c.Record(t.Context(), e); !errors.Is(err, locking.ErrFuture) || errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Record = %v, want ErrFuture", err)
	}
	if list, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("the nodes keep %+v, %v", list, err)
	}
	e.Tick = time.Now().Truncate(time.Second)
	if _, err := c.Record(t.Context(), e); err != nil {
		t.Errorf("a tick of now: %v", err)
	}
}

// Two replicas that lived on know more than one that drained, whichever is heard first.
func TestDrainingReplicaKnowsLeast(t *testing.T) {
	t.Parallel()
	c := connect(t, redistest.MiniN(t, 3).Cluster())
	drained, living := skipped("job", 1, ""), skipped("job", 1, "")
	drained.Outcome, drained.Reason = ledger.Missed, ledger.Reason{Code: ledger.CodeDrained}
	living.Reason = ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{Holder: "a"}}
	for _, e := range []ledger.Entry{drained, living, living, drained} {
		e.Tick = tick(1)
		if _, err := c.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 10})
	if err != nil || len(list) != 1 || list[0].Reason.Code != ledger.CodeOverlap {
		t.Errorf("the ledger has %+v, %v, want one entry: overlap", list, err)
	}
}
