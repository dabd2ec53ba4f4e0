package claims_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

func (w *world) declareRestored() {
	w.Helper()
	if err := claims.DeclareRestored(w.Context(), w.m, grace); err != nil {
		w.Fatal(err)
	}
}

// A store that nobody has declared new may have lost its memory: it grants claims after a
// grace, and only of ticks after that.
func TestBlankStore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.m = &kvtest.Memory{Clockless: w.m.Clockless}
		w.l = w.replica()
		begun := w.tick(0)
		w.refused(begun, locking.ErrUnvouched)
		w.refused(locking.Request{Name: "plain"}, locking.ErrNoQuorum)
		time.Sleep(w.grace / 2)
		w.refused(w.later(1), locking.ErrFuture) // it votes later
		time.Sleep(w.grace/2 + time.Second)
		w.refused(begun, locking.ErrUnvouched)
		w.acquire(w.later(1))
		if err := claims.DeclareNew(w.Context(), w.m); !errors.Is(err, locking.ErrRefused) {
			w.Errorf("a store with claims was declared new: %v", err)
		}
	})
}

// A later release may store what this one would misread. This one claims nothing, and leaves
// the incarnation as it is.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		list, stamp, err := w.m.Read(w.Context(), records.IncarnationKey())
		if err != nil {
			w.Fatal(err)
		}
		later := records.Put(records.IncarnationKey(), records.Incarnation{ID: stamp.Incarnation, Format: 1})
		if o, err := w.m.Commit(w.Context(), kv.Txn{Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: list[0].Key, Version: list[0].Version}}, Put: []kv.Write{later}}); err != nil || !o.Won {
			w.Fatalf("storing another format: %v, %v", o, err)
		}
		_, claim := w.l.TryAcquire(w.Context(), w.tick(0))
		for doing, err := range map[string]error{
			"a claim":            claim,
			"DeclareNew":         claims.DeclareNew(w.Context(), w.m),
			"DeclareRestored":    claims.DeclareRestored(w.Context(), w.m, grace),
			"noting its history": claims.NoteIncarnation(w.Context(), w.m, grace),
		} {
			if err == nil || !strings.Contains(err.Error(), "upgrade quorate") {
				w.Errorf("%s: %v, want an error that says what to do", doing, err)
			}
		}
	})
}

// A standby that takes over while a store is declared new may have forgotten claims.
func TestFailoverWhileDeclaredNew(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.m = new(kvtest.Memory)
		w.m.Fault = func(_ context.Context, c kvtest.Call) error {
			if c.Method == "List" && c.Answered {
				w.m.Restore(w.m.Backup())
			}
			return nil
		}
		if err := claims.DeclareNew(w.Context(), w.m); !errors.Is(err, locking.ErrRefused) {
			w.Errorf("DeclareNew = %v", err)
		}
		w.l = w.replica()
		w.refused(w.tick(0), locking.ErrUnvouched)
	})
}

// A standby that was behind takes over. No tick runs twice, tokens grow, and the holder whose
// claim it never saw goes on.
func TestStaleStandby(t *testing.T) {
	t.Parallel()
	for _, overlap := range []bool{false, true} {
		inWorld(t, func(w *world) {
			request := func(n int) locking.Request {
				r := w.tick(n)
				r.Beside = overlap
				return r
			}
			w.release(w.acquire(request(1)))
			standby := w.m.Backup()
			time.Sleep(time.Second)
			ended := w.acquire(request(2))
			w.release(ended)
			lease := w.acquire(request(3))
			w.extends(lease)
			w.m.Restore(standby)

			w.refused(request(2), locking.ErrUnvouched)
			w.refused(request(3), locking.ErrUnvouched)
			w.extends(lease)
			if e := w.entry(lease.Claim()); e.Kind != records.Started {
				w.Errorf("the run's entry is %+v", e)
			}
			for range 5 {
				time.Sleep(ttl / 2)
				w.extends(lease)
			}
			w.refused(request(2), locking.ErrUnvouched)
			w.refused(w.later(5), locking.ErrTaken)
			w.release(lease)
			if e := w.entry(lease.Claim()); e.Kind != records.Finished {
				w.Errorf("the run's entry is %+v", e)
			}
			w.refused(request(3), locking.ErrUnvouched)
			r := w.later(5)
			r.Beside = overlap
			w.larger(lease, w.acquire(r))
		})
	}
}

// A run that ends right after the failover has ended well, unless another was claimed since.
func TestEndAfterFailover(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		standby := w.m.Backup()
		lease := w.acquire(w.tick(1))
		w.m.Restore(standby)
		w.release(lease)
		if e := w.entry(lease.Claim()); e.Kind != records.Finished {
			w.Errorf("the run's entry is %+v", e)
		}

		standby = w.m.Backup()
		time.Sleep(w.grace + time.Second)
		lost := w.acquire(w.later(2))
		w.m.Restore(standby)
		w.refused(w.later(3), locking.ErrUnvouched) // the incarnation is noticed
		time.Sleep(w.grace + time.Second)
		r := w.later(4)
		r.Tick = r.Tick.Add(w.grace)
		next := w.acquire(r)
		w.larger(lost, next)
		w.extendsNot(lost)
		w.wants("Release", lost.Release(w.Context(), nil), locking.ErrLeaseLost)
		w.extends(next)
	})
}

// Two holders that the standby never saw both go on, if the older one is back first.
func TestHoldersRejoin(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		standby := w.m.Backup()
		one, two := w.acquire(beside(w.tick(1))), w.acquire(beside(locking.Request{Name: "job", Stream: "manual", Tick: w.epoch}))
		w.m.Restore(standby)
		w.refused(w.tick(2), locking.ErrUnvouched) // the incarnation is noticed
		commits := 0
		w.faults(func(c kvtest.Call) error {
			if c.Method == "Commit" && !c.Answered {
				if commits++; commits == 2 { // the first is lost to the other incarnation
					w.mu.Unlock()
					defer w.mu.Lock()
					w.extends(one)
				}
			}
			return nil
		})
		w.extends(two)
		w.faults(nil)
		w.extends(one)
		w.release(two)
		w.release(one)
	})
}

// Two holders of ticks that overlap are back, the one of the earlier tick first. Both go on, and
// keep out a claim that overlaps nothing.
func TestOverlappingHoldersRejoin(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(w *world, l locking.Lease){
		"extend":  func(w *world, l locking.Lease) { w.extends(l) },
		"release": func(w *world, l locking.Lease) { w.release(l) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				standby := w.m.Backup()
				one, two := w.acquire(beside(w.tick(1))), w.acquire(beside(w.tick(2)))
				w.m.Restore(standby)
				w.extends(one)
				back(w, two)
				for begun := time.Now(); time.Since(begun) < 2*grace; time.Sleep(ttl / 2) {
					w.extends(one)
				}
				w.refused(w.tick(90), locking.ErrTaken)
				w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrTaken)
				w.release(one)
				if e := w.entry(one.Claim()); e.Kind != records.Finished {
					t.Errorf("the run's entry is %+v", e)
				}
				w.expire() // the lease of the other run, seen since the refusal
				w.acquire(w.tick(90))
			})
		})
	}
}

// A shifted store has a clock that is off.
type shifted struct {
	kv.Store
	by *time.Duration
}

func (s shifted) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	list, at, err := s.Store.Read(ctx, keys...)
	at.Now = at.Now.Add(*s.by)
	return list, at, err
}

func (s shifted) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	o, err := s.Store.Commit(ctx, t)
	o.Stamp.Now = o.Stamp.Now.Add(*s.by)
	return o, err
}

// The lease ends before others may have it by the store's clock, also if that runs ahead.
func TestClockRunsAhead(t *testing.T) {
	t.Parallel()
	inWorldOf(t, false, func(w *world) {
		var by time.Duration
		l, err := claims.New(shifted{w.m, &by}, claims.Config{TTL: ttl, Grace: grace, Timeout: timeout})
		if err != nil {
			w.Fatal(err)
		}
		lease, err := l.TryAcquire(w.Context(), w.tick(1))
		if err != nil {
			w.Fatal(err)
		}
		time.Sleep(ttl / 2)
		by = 5 * time.Second
		w.extends(lease)
		stored, err := records.Decode[records.Lease](w.stored(kv.Leases)[0])
		if until := time.UnixMilli(stored.Until).Add(-by); err != nil || lease.Deadline().After(until) {
			w.Errorf("the lease ends %v after others may have it, %v", lease.Deadline().Sub(until), err)
		}
	})
}

// A grace that began before the store's clock was set back begins again.
func TestClockWasSetBack(t *testing.T) {
	t.Parallel()
	inWorldOf(t, false, func(w *world) {
		by := time.Hour
		if err := claims.DeclareRestored(w.Context(), shifted{w.m, &by}, grace); err != nil {
			w.Fatal(err)
		}
		w.refused(w.tick(1), locking.ErrUnvouched)
		time.Sleep(grace + time.Second)
		w.acquire(w.tick(42))
	})
}

// The first look or claim in another incarnation notes it, and its grace begins. After the grace the
// first claim is granted, however long nobody has claimed anything.
func TestIncarnationIsNoted(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		look := func() {
			if err := claims.NoteIncarnation(w.Context(), w.m, grace); err != nil {
				w.Error(err)
			}
		}
		claim := func() { w.refused(w.tick(1), locking.ErrUnvouched) }
		for _, note := range []func(){look, claim, look} {
			w.m.Restore(w.m.Backup())
			note()
			noted := time.Now()
			if why := w.l.Watch(w.tick(1), 0).Look(w.Context()); why != nil {
				w.Errorf("Look = %v, want nil: a claim tells why not", why)
			}
			time.Sleep(w.grace - time.Second)
			look() // it changes nothing
			w.refused(locking.Request{Name: "plain"}, locking.ErrNoQuorum)
			time.Sleep(2 * time.Second)
			r := w.tick(0)
			r.Tick = noted.Add(w.grace + time.Second)
			w.release(w.acquire(r))
			w.release(w.acquire(locking.Request{Name: "plain"}))
		}
	})
}
