package claims_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

const noRights = kvtest.Refusal("permission denied for function commit_records")

// refusing refuses calls of the methods for so long.
func (w *world) refusing(d time.Duration, methods ...string) {
	until := time.Now().Add(d)
	w.faults(func(c kvtest.Call) error {
		if !c.Answered && time.Now().Before(until) && strings.Contains(strings.Join(methods, " "), c.Method) {
			return noRights
		}
		return nil
	})
}

// A store that refuses the end of a run for a while gets it later, until the lease ends.
func TestRefusedEndIsRepeated(t *testing.T) {
	t.Parallel()
	ends := map[string]func(locking.Lease, context.Context, []byte) error{"release": locking.Lease.Release, "handover": locking.Lease.HandOver}
	for name, end := range ends {
		for _, method := range []string{"Commit", "Read"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					lease := w.acquire(again(w.tick(1)))
					w.refusing(ttl/2, method, "Commit")
					begun := time.Now()
					if err := end(lease, w.Context(), []byte(`{"v":2}`)); err != nil {
						w.Errorf("refused for %v of %v: %v", ttl/2, ttl, err)
					}
					if took := time.Since(begun); took < ttl/2 {
						w.Errorf("it took %v", took)
					}
					if e := w.entry(lease.Claim()); e.Kind != records.Finished {
						w.Errorf("the entry is %+v, want a finished run", e)
					}
				})
			})
		}
	}
}

// One that refuses until the end of the lease is quoted: it has answered.
func TestRefusedEndSaysWhy(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.refusing(time.Hour, "Commit")
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := lease.Release(ctx, nil)
		w.wants("Release", err, locking.ErrRefused)
		err = errors.Join(err, lease.Release(w.Context(), nil))
		w.wants("Release until the deadline", err, locking.ErrLeaseLost)
		w.wants("Release until the deadline", err, locking.ErrRefused)
		if !locking.Expired(time.Now(), lease.Deadline()) {
			w.Errorf("it gave up %v before the deadline", time.Until(lease.Deadline()))
		}
		if text := err.Error(); !strings.Contains(text, string(noRights)) || strings.Contains(text, "does not answer") || strings.Contains(text, "quorum") {
			w.Errorf("the text is %q", text)
		}
	})
}

// No later try makes a note smaller.
func TestTooLargeEndIsFinal(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.m.Bounds = kv.Limits{Keys: 100, Bytes: 4 << 10}
		begun := time.Now()
		w.wants("Release", lease.Release(w.Context(), []byte(`"`+strings.Repeat("x", 8<<10)+`"`)), kv.ErrTooLarge)
		if took := time.Since(begun); took > 0 {
			w.Errorf("it took %v", took)
		}
		w.release(lease)
	})
}

// A refused extension is repeated by the keeper, and does not end the work.
func TestRefusedExtensionIsRepeated(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		k := locking.Keep(w.Context(), lease, locking.KeepConfig{TTL: ttl})
		defer k.Stop()
		time.Sleep(ttl / 4) // the first extension comes after a third
		w.refusing(ttl/2, "Commit")
		time.Sleep(2 * ttl)
		synctest.Wait()
		if err := context.Cause(k.Context()); err != nil {
			w.Errorf("the work ended: %v", err)
		}
		k.Stop()
		w.release(lease)
	})
}

// A store that refuses a claim is asked again by callers that wait, and what may have been
// claimed is voided once it accepts that.
func TestRefusedClaim(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.refusing(3*time.Second, "Commit")
		if text := w.refused(w.tick(1), locking.ErrRefused).Error(); !strings.Contains(text, string(noRights)) {
			w.Errorf("the text is %q", text)
		}
		lease, err := locking.Acquire(w.Context(), w.l, w.tick(1), locking.Retry{Tries: 100})
		if err != nil {
			w.Fatalf("Acquire = %v", err)
		}
		w.release(lease)

		arrive := w.delayed(func() { w.refused(w.tick(2), locking.ErrNoQuorum) })
		if !arrive() {
			w.Fatal("the claim was not made")
		}
		w.refusing(10*time.Second, "Read", "Commit")
		w.wants("Look", w.l.Watch(w.tick(3), 0).Look(w.Context()), nil) // a try tells
		time.Sleep(20 * time.Second)
		w.release(w.acquire(w.tick(2)))
	})
}

// What became of a run whose transaction may have ended it is asked until it is known.
func TestRefusedSettling(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.refusing(ttl/2, "Read", "Commit")
		ctx, cancel := context.WithDeadline(w.Context(), lease.Deadline())
		defer cancel()
		settler := lease.(interface {
			Settle(ctx context.Context) ([]byte, bool, error)
		})
		if _, ended, err := settler.Settle(ctx); ended || err != nil {
			w.Errorf("Settle = %t, %v", ended, err)
		}
		w.refusing(time.Hour, "Read")
		_, _, err := settler.Settle(ctx)
		w.wants("Settle until the deadline", err, locking.ErrRefused)
		if strings.Contains(err.Error(), "quorum") {
			w.Errorf("the text is %q", err)
		}
	})
}
