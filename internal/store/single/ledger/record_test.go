package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
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

// A record that the store refuses, or does not answer, is given up soon and says why.
func TestRecordSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		reads := 0
		hangs := func(ctx context.Context, call kvtest.Call) error {
			switch {
			case call.Method != "Commit":
				reads++
			case !call.Answered:
				retry.Sleep(ctx, 5*time.Second)
				return errors.New("the disk is full")
			}
			return nil
		}
		c.Fault = hangs
		begun := time.Now()
		_, err := c.Record(t.Context(), skipped("job", 1, ""))
		if !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("Record = %v, want that the disk is full", err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := c.Record(ctx, skipped("job", 1, "")); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 7*time.Second {
			t.Errorf("after %v Record = %v, want an end with its context", time.Since(begun), err)
		}
		c.Bounds, reads = kv.Limits{Keys: 100, Bytes: 10}, 0
		if _, err := c.Record(t.Context(), skipped("job", 1, "")); !errors.Is(err, kv.ErrTooLarge) || reads > 2 {
			t.Errorf("Record = %v, after %d reads", err, reads)
		}
	})
}
