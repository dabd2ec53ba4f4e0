package redlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// onPlain runs a test in a bubble, on five nodes that have voted for an hour.
func onPlain(t *testing.T, f func(t *testing.T, p *plainNodes, c *cluster)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlain(t, 5)
		f(t, p, c)
	})
}

// Every claim asks all nodes.
func TestClaimsAskAllNodes(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		costs := func(what, want string) {
			t.Helper()
			synctest.Wait()
			if got := p.since(); got != want {
				t.Errorf("%s costs %q, want %q", what, got, want)
			}
		}
		two := mustAcquire(t, l, c.request(past(0)))
		costs("a claim in two rounds", "commit 5, lock 5")
		mustRelease(t, two)
		costs("its release", "finish 5")
		if _, err := l.TryAcquire(t.Context(), c.request(past(0))); !errors.Is(err, locking.ErrDone) {
			t.Errorf("a claim of a tick that is done = %v", err)
		}
		costs("a claim of a tick that is done", "lock 5")
		time.Sleep(time.Millisecond)
		one := mustAcquire(t, l, direct(c.request(past(1))))
		costs("a claim in one round", "commit 5")
		if got := one.Claim(); got.Token <= two.Claim().Token || got.Attempt != 1 {
			t.Errorf("Claim = %+v after token %d, want a larger one and attempt 1", got, two.Claim().Token)
		}
		if left := time.Until(one.Deadline()); left != (Options{}).WithDefaults().validity(c.cfg.TTL) {
			t.Errorf("the lease lasts for %v, want the ttl of %v less drift", left, c.cfg.TTL)
		}
		if err := one.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		costs("an extension", "extend 5")
		if err := one.Void(t.Context()); err != nil {
			t.Fatal(err)
		}
		costs("giving it back", "void 5")
	})
}

// A claim is over when a quorum has granted it; later answers still count.
func TestClaimDoesNotWaitForStragglers(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		p.set(func(f *faults) { f.late["commit n1"], f.late["commit n3"] = 100*time.Millisecond, 200*time.Millisecond })
		l := plainLocker(t, c)
		begun := time.Now()
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		if took := time.Since(begun); took != 0 || lease.Claim().Votes.For != 3 {
			t.Errorf("the claim took %v and has %v votes, want those of three that answer at once", took, lease.Claim().Votes)
		}
		time.Sleep(time.Second)
		p.since()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := p.since(); got != "extend 5" {
			t.Errorf("an extension costs %q, though all nodes have the claim", got)
		}
		mustRelease(t, lease)
	})
}

// A claim that no quorum can grant any more is over, even without all answers.
func TestRefusalDoesNotWaitForStragglers(t *testing.T) {
	for name, late := range map[string][]string{
		"a quorum is taken":             {"commit n0", "commit n1"},
		"one knows that it is done":     {"commit n1", "commit n2", "commit n3", "commit n4"},
		"one refuses, and two are down": {"commit n3", "commit n4"},
	} {
		t.Run(name, func(t *testing.T) {
			onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
				l := plainLocker(t, c)
				lease, req, want := mustAcquire(t, l, direct(c.request(past(0)))), direct(c.request(past(0))), locking.ErrDone
				if name == "a quorum is taken" {
					req, want = direct(c.request(past(1))), locking.ErrTaken
				} else {
					mustRelease(t, lease)
				}
				synctest.Wait()
				if name == "one refuses, and two are down" {
					p.stop(1, 2)
					_ = sights(t, l.Watch(c.request(past(1)), 0), 5) // it is known
				}
				p.set(func(f *faults) {
					for _, call := range late {
						f.late[call] = 200 * time.Millisecond
					}
				})
				begun := time.Now()
				_, err := l.TryAcquire(t.Context(), req)
				if took := time.Since(begun); took != 0 || !errors.Is(err, want) {
					t.Errorf("it took %v: %v", took, err)
				}
			})
		})
	}
}

// FINISH reaches a node after the answer to its COMMIT.
func TestFinishDoesNotOvertakeCommit(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		p.set(func(f *faults) { f.late["commit n4"] = 200 * time.Millisecond })
		lease := mustAcquire(t, plainLocker(t, c), direct(c.request(past(0))))
		begun := time.Now()
		mustRelease(t, lease)
		if took := time.Since(begun); took != 0 {
			t.Errorf("the release waits %v for a straggler", took)
		}
		time.Sleep(time.Second)
		if got := p.locks(); got != "" {
			t.Errorf("locks are left at %s", got)
		}
		if got := p.served(4); got != "commit finish" {
			t.Errorf("the straggler has served %q", got)
		}
	})
}

// VOID reaches a node right after the answers to the try's requests there.
func TestVoidDoesNotOvertakeCommit(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		held := mustAcquire(t, l, direct(c.request(past(0))))
		defer mustRelease(t, held)
		synctest.Wait() // else the next claim may overtake this one at a node that was slower
		p.set(func(f *faults) {
			f.late["commit n4"] = 200 * time.Millisecond
		})
		p.mu.Lock()
		clear(p.nodes["n4"].Jobs) // it would accept
		p.mu.Unlock()
		if _, err := l.TryAcquire(t.Context(), direct(c.request(past(1)))); !errors.Is(err, locking.ErrTaken) {
			t.Fatalf("TryAcquire = %v", err)
		}
		time.Sleep(201 * time.Millisecond) // the cleaner would come later
		if got := p.served(4); got != "commit commit void" {
			t.Errorf("the straggler has served %q", got)
		}
	})
}

// A node whose answer decides a round counts as answered at its end, so the claim's end
// goes there at once. Before that, it may be asked again.
func TestVotersCountAsHeard(t *testing.T) {
	onPlain(t, func(t *testing.T, _ *plainNodes, c *cluster) {
		a := newTry(c.locker(t), c.request(past(0)), "v")
		seen := &busySeen{t: a}
		q := a.lockQuery()
		a.send(t.Context(), &client.Fan{Quorum: a.l.set.Quorum()}, 0, &q, seen)
		synctest.Wait()
		if seen.before != 1 || seen.after != 0 {
			t.Errorf("%d requests are under way before the vote counts and %d when it does, want 1 and 0", seen.before, seen.after)
		}
	})
}

// busySeen gets the number of requests under way.
type busySeen struct {
	t             *try
	before, after int
}

func (b *busySeen) retries(node int, _ vote) bool {
	b.before = b.t.stateAt(node).inFlight
	return false
}

func (b *busySeen) add(node int, _ vote) { b.after = b.t.stateAt(node).inFlight }

// The answer to LOCK comes after that to COMMIT. A void of the lease waits for it.
func TestVoidWaitsForWhatWasAskedBefore(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		p.stop(3, 4)
		p.set(func(f *faults) { f.heard["lock n0"] = 100 * time.Millisecond })
		l := c.locker(t)
		a := newTry(l, c.request(past(0)), "v")
		a.first = a.round(t.Context(), claiming, a.lockQuery()).start()
		a.chooseNumbers(nil)
		a.mutex = a.newMutex()
		redsync.WithValue("v").Apply(a.mutex) // as if it had locked
		if _, granted := a.round(t.Context(), claiming, a.commitQuery(false)).start().result(); !granted {
			t.Fatal("the claim was not granted")
		}
		if err := newLease(a, a.first.end(), time.Now().Add(c.cfg.TTL)).Void(t.Context()); err != nil {
			t.Errorf("Void = %v", err)
		}
		if got := p.locks(); got != "" {
			t.Errorf("locks are left at %s", got)
		}
	})
}

// The adapter gives redsync votes on the try's own lock only: a command with another name, value,
// TTL or script is refused, not answered by what the round asked.
func TestRedsyncIsAnsweredAboutTheTry(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		p.stop(3, 4) // else a round may be over before the first node has voted
		a := newTry(c.locker(t), c.request(past(0)), "v")
		a.first = a.round(t.Context(), claiming, a.lockQuery()).start()
		at, name, ttl := conn{t: a, node: 0, ctx: t.Context()}, a.req.Name, a.req.TTL
		if ok, err := at.SetNX(name, "v", ttl); !ok || err != nil {
			t.Errorf("SetNX of the try = %t, %v", ok, err)
		}
		for what, ask := range map[string]func() (bool, error){
			"name":  func() (bool, error) { return at.SetNX("other", "v", ttl) },
			"value": func() (bool, error) { return at.SetNX(name, "w", ttl) },
			"TTL":   func() (bool, error) { return at.SetNX(name, "v", ttl+time.Millisecond) },
		} {
			if ok, err := ask(); ok || !errors.Is(err, errOther) {
				t.Errorf("SetNX with another %s = %t, %v, want %v", what, ok, err, errOther)
			}
		}
		a.chooseNumbers(nil)
		a.eval.Store(a.round(t.Context(), extending, a.query(scripts.Extend, extends)).start())
		ms := int(ttl.Milliseconds())
		if reply, err := at.Eval(nil, name, "v", ms); reply != int64(1) || err != nil {
			t.Errorf("Eval to extend = %v, %v", reply, err)
		}
		for what, args := range map[string][]any{
			"script": {name, "v"}, "name": {"other", "v", ms}, "value": {name, "w", ms}, "TTL": {name, "v", ms + 1},
		} {
			if reply, err := at.Eval(nil, args...); reply != nil || !errors.Is(err, errOther) {
				t.Errorf("Eval with another %s = %v, %v, want %v", what, reply, err, errOther)
			}
		}
	})
}
