package claims_test

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// While commits hang, tries that have given up leave connections to the runs that go on.
func TestFewVoidsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newStore(t, false)
		var hanging, most atomic.Int64
		m.Fault = func(ctx context.Context, c kvtest.Call) error {
			if c.Method != "Commit" || c.Answered {
				return nil
			}
			most.Store(max(most.Load(), hanging.Add(1)))
			defer hanging.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		l := open(t, m)
		for n := range 50 {
			if _, err := l.TryAcquire(t.Context(), locking.Request{Name: "job " + strconv.Itoa(n), Tick: time.Now().Truncate(time.Second)}); err == nil {
				t.Fatal("a claim was granted")
			}
		}
		most.Store(0)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := most.Load(); n < 1 || n > 2 {
			t.Errorf("%d tries are voided at a time, want one or two", n)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A try of a name without claims is voided without a trace, and still a late claim loses.
func TestVoidLeavesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		arrive := w.delayed(func() { w.refused(w.tick(1), locking.ErrNoQuorum) })
		time.Sleep(5 * time.Second)
		if got := w.stored(kv.Claims); len(got) != 0 {
			w.Errorf("it has left %v", got)
		}
		if err := claims.DeclareNew(w.Context(), w.m); err != nil {
			w.Error(err)
		}
		if arrive() {
			w.Error("a commit of a try that had given up won")
		}
	})
}

// Two replicas ask at the same moment, so their transactions have the same token. To void the one
// that lost must not delete the entry of the other's run.
func TestVoidLeavesTheEntryOfAnother(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		other, before := w.replica(), context.WithValue(w.Context(), late{}, true)
		var won locking.Lease
		w.faults(func(c kvtest.Call) error {
			if c.Method != "Commit" || won != nil {
				return nil
			}
			var err error
			if won, err = other.TryAcquire(before, w.tick(1)); err != nil {
				w.Fatal(err)
			}
			return errCut
		})
		w.refused(w.tick(1), locking.ErrClaimed)
		time.Sleep(time.Second)
		if e := w.entry(won.Claim()); e.Kind != records.Started {
			w.Errorf("the run's entry is %+v", e)
		}
		w.release(won)
		_ = other.Close()
	})
}

// Nothing is written to void a try that can no longer win.
func TestVoidOfASupersededTry(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		arrive := w.delayed(func() { w.refused(w.tick(1), locking.ErrNoQuorum) })
		w.acquire(w.tick(2))
		w.methods()
		time.Sleep(5 * time.Second)
		if got := w.methods(); !slices.Equal(got, []string{"Read"}) {
			w.Errorf("to void it takes %v, want one look", got)
		}
		if arrive() {
			w.Error("a commit of a try that had given up won")
		}
	})
}
