package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A replica whose clock is an hour ahead records nothing of ticks that have not come.
func TestRecordOfTheFuture(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	e := skipped("job", 0, "an earlier run goes on")
	e.Tick = time.Now().Add(time.Hour).Truncate(time.Second)
	if _, err := c.Record(t.Context(), e); !errors.Is(err, locking.ErrFuture) || errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Record = %v, want ErrFuture", err)
	}
	if list, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("the store keeps %+v, %v", list, err)
	}
	e.Tick = time.Now().Truncate(time.Second)
	if first, err := c.Record(t.Context(), e); err != nil || !first {
		t.Errorf("a tick of now: %t, %v", first, err)
	}
}
