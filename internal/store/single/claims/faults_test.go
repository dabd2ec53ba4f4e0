package claims_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// A claim costs one read and one commit, a look one read, an extension or an end one commit.
func TestCosts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		costs := func(what string, want ...string) {
			w.Helper()
			if got := w.methods(); !slices.Equal(got, want) {
				w.Errorf("%s takes %v, want %v", what, got, want)
			}
		}
		w.methods()
		for _, r := range []locking.Request{w.tick(1), beside(w.tick(2)), {Name: "plain"}} {
			lease := w.acquire(r)
			costs("a claim", "Read", "Commit")
			w.extends(lease)
			costs("an extension", "Commit")
			_ = w.l.Watch(r, 0).Look(w.Context())
			costs("a look", "Read")
			w.release(lease)
			costs("a release", "Commit")
			w.extendsNot(lease)
			costs("an extension after the end")
		}
		w.refused(w.tick(1), locking.ErrSuperseded)
		costs("a refusal", "Read")
	})
}

// extendsNot extends a lease that is lost.
func (w *world) extendsNot(l locking.Lease) {
	w.Helper()
	w.wants("Extend", l.Extend(w.Context()), locking.ErrLeaseLost)
}

// A commit whose request or answer was lost is found out about: one claim, one token.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	for _, answer := range []bool{false, true} {
		for _, request := range []func(*world) locking.Request{
			func(w *world) locking.Request { return w.tick(1) },
			func(w *world) locking.Request { return again(beside(w.tick(1))) },
			func(*world) locking.Request { return locking.Request{Name: "job"} },
		} {
			inWorld(t, func(w *world) {
				begun, r := time.Now(), request(w)
				w.faults(firstCommit(answer))
				lease := w.acquire(r)
				if lease.Deadline().After(begun.Add(ttl - ttl/100)) {
					w.Errorf("the lease ends %v after the first request", lease.Deadline().Sub(begun))
				}
				if got := lease.Claim().Attempt; got != 1 {
					w.Errorf("attempt %d, want the first", got)
				}
				w.faults(firstCommit(answer))
				w.extends(lease)
				w.faults(firstCommit(answer))
				w.release(lease)
				if n := len(w.stored(kv.Entries)); n > 1 {
					w.Errorf("%d entries of one run", n)
				}
				if r.Tick.IsZero() {
					w.larger(lease, w.acquire(r))
					return
				}
				if e := w.entry(lease.Claim()); e.Kind != records.Finished {
					w.Errorf("the entry is %+v, want a finished run", e)
				}
				w.refused(r, locking.ErrDone)
			})
		}
	}
}

// A try that gives up voids its claim as soon as the store answers, also if the commit
// arrives only then.
func TestClaimThatGaveUpIsVoided(t *testing.T) {
	t.Parallel()
	const (
		atOnce = iota
		beforeVoid
		afterVoid
	)
	for arrives, name := range []string{atOnce: "it was done", beforeVoid: "it arrives before it is voided", afterVoid: "it arrives after that"} {
		inWorld(t, func(w *world) {
			var txn kv.Txn
			w.faults(func(call kvtest.Call) error {
				switch {
				case txn.Incarnation != "":
					return errCut
				case call.Method != "Commit":
					return nil
				}
				if txn = call.Txn; arrives == atOnce {
					w.arrives(txn)
				}
				return errCut
			})
			if why := w.refused(w.tick(1), locking.ErrNoQuorum); !why.MayShow {
				w.Errorf("%s: nobody hears that others may see the claim", name)
			}
			if arrives == beforeVoid && !w.arrives(txn) {
				w.Errorf("%s: it lost", name)
			}
			w.faults(nil)
			time.Sleep(5 * time.Second)
			if arrives == afterVoid && w.arrives(txn) {
				w.Errorf("%s: a commit of a try that had given up won", name)
			}
			if n := len(w.stored(kv.Entries)); n != 0 {
				w.Errorf("%s: %d entries are left of a claim that nobody ran", name, n)
			}
			w.release(w.acquire(w.tick(1)))
		})
	}
}

// A commit that was not sent left nothing that would have to be voided.
func TestUnsentClaimIsNotVoided(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faults(func(c kvtest.Call) error {
			if c.Method == "Commit" {
				return kv.ErrNotSent
			}
			return nil
		})
		if why := w.refused(w.tick(1), locking.ErrNoQuorum); why.MayShow {
			w.Errorf("others are said to see a claim that was not sent: %v", why)
		}
		w.methods()
		time.Sleep(time.Minute)
		if after := w.methods(); len(after) > 0 {
			w.Errorf("after a claim that was not sent: %v, want no call", after)
		}
		w.faults(nil)
		w.release(w.acquire(w.tick(1)))
	})
}

// A claim that arrives late loses against whatever was decided since.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		since func(w *world)
	}{
		{"after another claim of the tick", func(w *world) { w.acquire(w.tick(1)) }},
		{"after the tick has ended", func(w *world) { w.release(w.acquire(w.tick(1))) }},
		{"after a plain claim", func(w *world) { w.release(w.acquire(locking.Request{Name: "job"})) }},
		{"after the job was forgotten", func(w *world) {
			w.release(w.acquire(w.tick(1)))
			if err := w.l.Forget(w.Context(), "job"); err != nil {
				w.Fatal(err)
			}
		}},
		{"after the store was restored", func(w *world) {
			backup := w.m.Backup()
			w.release(w.acquire(w.tick(1)))
			w.m.Restore(backup)
		}},
	} {
		inWorld(t, func(w *world) {
			other := w.replica()
			ctx, cancel := context.WithCancel(w.Context())
			arrive := w.delayed(func() {
				time.AfterFunc(time.Millisecond, cancel)
				_, err := other.TryAcquire(ctx, w.tick(1))
				w.wants("TryAcquire", err, locking.ErrNoQuorum)
				_ = other.Close() // or it would be voided
			})
			c.since(w)
			if arrive() {
				w.Errorf("%s: the claim won", c.name)
			}
		})
	}
}

// A claim that was decided before the store was declared restored loses.
func TestClaimAcrossRestore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.release(w.acquire(w.tick(1)))
		time.Sleep(time.Second)
		w.during(func() { w.declareRestored() })
		why := w.refused(w.tick(2), locking.ErrUnvouched)
		if !strings.Contains(why.Error(), "grants only ticks after "+w.epoch.Add(time.Second+w.grace).UTC().Format(time.RFC3339)) {
			w.Errorf("the refusal does not say which ticks are granted: %v", why)
		}
	})
}

// during makes f between the next decision and its commit.
func (w *world) during(f func()) {
	w.faults(func(c kvtest.Call) error {
		if c.Method == "Commit" && f != nil {
			then := f
			f = nil
			w.mu.Unlock()
			then()
			w.mu.Lock()
		}
		return nil
	})
}

// A claim that is decided while a lease has expired loses if the lease is extended first, and
// so does the extension if the claim is first.
func TestExtensionAgainstClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		holder, comes  func(*world) locking.Request
		extensionFirst bool
	}{
		{"the same lock", func(w *world) locking.Request { return w.tick(1) }, func(w *world) locking.Request { return w.tick(2) }, false},
		{"the same lock, extended first", func(w *world) locking.Request { return w.tick(1) }, func(w *world) locking.Request { return w.tick(2) }, true},
		{"a run beside others comes", func(w *world) locking.Request { return w.tick(1) }, func(w *world) locking.Request { return beside(w.tick(2)) }, false},
		{"a run beside others comes, extended first", func(w *world) locking.Request { return w.tick(1) }, func(w *world) locking.Request { return beside(w.tick(2)) }, true},
		{"it ran beside others", func(w *world) locking.Request { return beside(w.tick(1)) }, func(w *world) locking.Request { return w.tick(2) }, false},
		{"it ran beside others, extended first", func(w *world) locking.Request { return beside(w.tick(1)) }, func(w *world) locking.Request { return w.tick(2) }, true},
		{"the tick again", func(w *world) locking.Request { return again(beside(w.tick(1))) }, func(w *world) locking.Request { return again(beside(w.tick(1))) }, false},
		{"the tick again, extended first", func(w *world) locking.Request { return again(beside(w.tick(1))) }, func(w *world) locking.Request { return again(beside(w.tick(1))) }, true},
	} {
		inWorld(t, func(w *world) {
			lease := w.acquire(c.holder(w))
			w.ages(ttl / 2)
			arrive := w.delayed(func() { w.wants("Extend", lease.Extend(w.Context()), locking.ErrNoQuorum) })
			w.ages(ttl/2 + time.Second)
			if c.extensionFirst {
				w.during(func() {
					if !arrive() {
						w.Errorf("%s: the extension lost against a claim that was not made", c.name)
					}
				})
				if why := w.refused(c.comes(w), locking.ErrTaken); why.HolderToken != lease.Claim().Token {
					w.Errorf("%s: held by token %d, want %d", c.name, why.HolderToken, lease.Claim().Token)
				}
				return
			}
			next := w.acquire(c.comes(w))
			w.larger(lease, next)
			if arrive() {
				w.Errorf("%s: an extension won after a claim that excludes it", c.name)
			}
			w.extends(next)
			w.wants("Release", lease.Release(w.Context(), nil), locking.ErrLeaseLost)
		})
	}
}

// The lease of a claim that has ended does not count, even if it is extended late.
func TestLateExtension(t *testing.T) {
	t.Parallel()
	for _, overlap := range []bool{false, true} {
		inWorld(t, func(w *world) {
			r := w.tick(1)
			r.Beside = overlap
			lease := w.acquire(r)
			arrive := w.delayed(func() { w.wants("Extend", lease.Extend(w.Context()), locking.ErrNoQuorum) })
			w.release(lease)
			arrive()
			w.acquire(w.tick(2))
			if arrive() {
				w.Error("an extension won twice")
			}
		})
		inWorld(t, func(w *world) {
			r := w.tick(1)
			r.Beside = overlap
			lease := w.acquire(r)
			arrive := w.delayed(func() { w.wants("Extend", lease.Extend(w.Context()), locking.ErrNoQuorum) })
			if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
				w.Fatal(err)
			}
			if arrive() {
				w.Error("an extension won after the lock was released by an operator")
			}
			w.expire()
			if err := w.l.Forget(w.Context(), "job"); err != nil {
				w.Fatal(err)
			}
			if arrive() {
				w.Error("an extension won after the job was forgotten")
			}
		})
	}
}

// An end whose answer was lost has ended the claim as it was then, even if the next tick was
// claimed before anybody learned it.
func TestLostAnswerToTheEnd(t *testing.T) {
	t.Parallel()
	for _, overlap := range []bool{false, true} {
		inWorld(t, func(w *world) {
			other, r, next := w.replica(), w.tick(1), w.tick(2)
			r.Beside, next.Beside = overlap, overlap
			lease := w.acquire(r)
			time.Sleep(time.Second)
			lost := false
			w.faults(func(c kvtest.Call) error {
				if c.Method != "Commit" || !c.Answered || lost {
					return nil
				}
				lost = true
				w.mu.Unlock()
				defer w.mu.Lock()
				if _, err := other.TryAcquire(w.Context(), next); err != nil {
					w.Errorf("the next tick: %v", err)
				}
				return errCut
			})
			w.release(lease)
			if e := w.entry(lease.Claim()); e.Kind != records.Finished {
				w.Errorf("the entry is %+v, want a finished run", e)
			}
			w.release(lease)
		})
	}
}

// A store that does not answer costs a timeout, not the lease: the next extension counts.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.faults(always)
		w.refused(w.tick(2), locking.ErrNoQuorum)
		end := lease.Deadline()
		w.wants("Extend", lease.Extend(w.Context()), locking.ErrNoQuorum)
		w.wants("Look", w.l.Watch(w.tick(2), 0).Look(w.Context()), locking.ErrSilent)
		if _, err := w.l.Holders(w.Context()); !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, errCut) {
			w.Errorf("Holders = %v", err)
		}
		w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrNoQuorum)
		if text := w.refused(w.tick(2), locking.ErrNoQuorum).Error(); !strings.HasPrefix(text, "job: the store does not answer (") || strings.Contains(text, "quorum") || strings.Contains(text, "votes") {
			w.Errorf("the text is %q", text)
		}
		if !lease.Deadline().Equal(end) {
			w.Error("an extension without an answer moved the deadline")
		}
		time.Sleep(ttl / 2)
		w.faults(nil)
		w.extends(lease)
		if !lease.Deadline().After(end.Add(ttl / 3)) {
			w.Errorf("the lease ends %v later", lease.Deadline().Sub(end))
		}
		w.faults(always)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		w.wants("Release", lease.Release(ctx, nil), locking.ErrNoQuorum)
		err := lease.Release(w.Context(), nil)
		w.wants("Release until the deadline", err, locking.ErrLeaseLost)
		w.wants("Release until the deadline", err, locking.ErrNoQuorum)
	})
}

// An extension whose answer comes after the deadline does not count.
func TestAnswerAfterTheDeadline(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		end := lease.Deadline()
		time.Sleep(time.Until(end) - timeout/2)
		w.faults(func(c kvtest.Call) error {
			if c.Answered {
				time.Sleep(timeout * 3 / 4)
			}
			return nil
		})
		w.extendsNot(lease)
		if !lease.Deadline().Equal(end) {
			w.Errorf("the deadline moved by %v", lease.Deadline().Sub(end))
		}
	})
}

// A run that ends while another is claimed has ended late.
func TestEndAgainstClaim(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.expire()
		w.during(func() { w.acquire(w.tick(2)) })
		w.wants("Release", lease.Release(w.Context(), nil), locking.ErrLeaseLost)
		if e := w.entry(lease.Claim()); e.Kind != records.Late {
			w.Errorf("the entry is %+v, want a late end", e)
		}
		w.refused(w.tick(3), locking.ErrTaken)
	})
}

// A commit that has lost is repeated after a pause, as one that has failed: a store whose records others
// change all the time is not asked as fast as it answers.
func TestLostCommitsArePaced(t *testing.T) {
	t.Parallel()
	ends := map[string]func(locking.Lease, context.Context) error{
		"release":  func(l locking.Lease, ctx context.Context) error { return l.Release(ctx, nil) },
		"handover": func(l locking.Lease, ctx context.Context) error { return l.HandOver(ctx, nil) },
		"void":     locking.Lease.Void,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				lease := w.acquire(again(w.tick(1)))
				begun, lost := time.Now(), 0
				w.faults(func(c kvtest.Call) error {
					if lost < 1000 && c.Method == "Commit" && !c.Answered && time.Since(begun) < ttl/2 {
						lost++
						other := context.WithValue(w.Context(), late{}, true)
						list, stamp, err := w.m.Read(other, records.ClaimsKey(lease.Claim().Name))
						if err != nil {
							return err
						}
						_, err = w.m.Commit(other, kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: list[0].Key, Value: list[0].Value}}})
						return err
					}
					return nil
				})
				if err := end(lease, w.Context()); err != nil {
					w.Errorf("after others had changed the record for %v: %v", ttl/2, err)
				}
				if took := time.Since(begun); lost < 3 || lost > 100 || took < ttl/2 {
					w.Errorf("%d commits were lost in %v", lost, took)
				}
			})
		})
	}
}

// A run whose lease an operator took, or that outlived it, has not ended in time, also if its
// end is decided without reading.
func TestEndWithoutLease(t *testing.T) {
	t.Parallel()
	for _, evicted := range []bool{true, false} {
		inWorld(t, func(w *world) {
			lease := w.acquire(w.tick(1))
			if !evicted {
				w.expire()
			} else if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
				w.Fatal(err)
			}
			w.wants("Release", lease.Release(w.Context(), nil), locking.ErrExpired)
			if e := w.entry(lease.Claim()); e.Kind != records.RanOut {
				w.Errorf("evicted %t: the entry is %+v, want an end without lease", evicted, e)
			}
		})
	}
}

// The lock is free as soon as the last overlapping run has ended, however it ended.
func TestOverlappingRunsFreeTheLock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		ended, void, last := w.acquire(beside(w.tick(1))), w.acquire(beside(w.tick(2))), w.acquire(beside(w.tick(3)))
		w.release(ended)
		if err := void.Void(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.refused(w.tick(4), locking.ErrTaken)
		w.release(last)
		w.release(w.acquire(w.tick(4)))
	})
}

// A claim whose answer was lost does not count in another incarnation, where others may not know it.
func TestClaimFoundInAnotherIncarnation(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faults(func(c kvtest.Call) error {
			if c.Method != "Commit" || !c.Answered {
				return nil
			}
			w.m.Restore(w.m.Backup())
			w.fault = nil
			return errCut
		})
		w.refused(w.tick(1), locking.ErrNoQuorum)
		time.Sleep(time.Second)
		if n := len(w.stored(kv.Entries)); n != 0 {
			w.Errorf("%d entries are left of a claim that nobody ran", n)
		}
	})
}

// A holder that adds its claim again, as its own lease is still there, overwrites no claim
// that came in between.
func TestRejoinComparesTheClaims(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		key := records.ClaimsKey("job")
		lease := w.acquire(beside(w.tick(1)))
		w.arrives(kv.Txn{Incarnation: "incarnation 0", Delete: []kv.Key{key}}) // nothing does that
		commits := 0
		w.faults(func(c kvtest.Call) error {
			if c.Method != "Commit" || c.Answered {
				return nil
			}
			switch commits++; commits {
			case 1: // so the next try reads
				return errCut
			case 2:
				w.arrives(kv.Txn{Incarnation: "incarnation 0", Put: []kv.Write{records.Put(key, records.Claims{Streams: map[string]records.Claim{
					"manual": {Stream: "manual", Tick: 1, Token: 1, Owner: "b", Overlaps: true},
				}})}})
			}
			return nil
		})
		for lease.Extend(w.Context()) != nil {
			time.Sleep(time.Second)
		}
		if c := w.claims(); c.Streams["manual"].Owner != "b" || len(c.Streams) != 2 {
			w.Errorf("the claims are %+v, want another one, too", c)
		}
	})
}
