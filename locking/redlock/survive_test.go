package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// keep extends the lease every third of a ttl for d.
func keep(t *testing.T, lease locking.Lease, c *cluster, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(c.cfg.TTL / 3)
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatalf("Extend = %v", err)
		}
	}
}

// A claim was made while two of five nodes were silent, or refused connections. They
// return, and one extension later two of the others may go.
func TestLeaseSpreadsToNodesThatReturn(t *testing.T) {
	for _, oneRound := range []bool{true, false} {
		for _, silent := range []bool{true, false} {
			t.Run(fmt.Sprintf("one round %t, silent %t", oneRound, silent), func(t *testing.T) {
				onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
					req := c.request(past(0))
					req.Direct = oneRound
					testSpreads(t, p, c, req, silent)
				})
			})
		}
	}
}

func testSpreads(t *testing.T, p *plainNodes, c *cluster, req locking.Request, silent bool) {
	defer time.Sleep(11 * time.Minute) // all requests arrive, also those of a test that fails
	if silent {
		p.set(func(f *faults) { f.late["n3"], f.late["n4"] = 10*time.Minute, 10*time.Minute })
	} else {
		p.stop(3, 4)
	}
	lease := mustAcquire(t, c.locker(t), req)
	time.Sleep(time.Second) // their timeouts have passed
	p.restart(1, 3)         // one of them has been restarted, and abstains
	p.set(func(f *faults) { clear(f.late) })
	p.start(3, 4)
	time.Sleep(4 * time.Second) // they are found to be up
	if err := lease.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	p.stop(0, 1)
	keep(t, lease, c, 2*c.cfg.TTL)
	if other, err := c.locker(t).TryAcquire(t.Context(), c.request(past(1))); err == nil {
		t.Errorf("%+v was granted beside the lease", other.Claim())
	}
	mustRelease(t, lease)
}

// Nodes are restarted one after the other, each down for longer than a ttl, while others
// wait behind the lease and compete for it. The next goes before a round has passed: a node
// that has the claim sets its lock again in the same round, also while it abstains.
func TestLeaseOutlivesRollingRestarts(t *testing.T) {
	for _, size := range []int{3, 5} {
		for name, restart := range map[string]bool{"restarted": true, "cut off": false} {
			t.Run(fmt.Sprintf("%d nodes, %s", size, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testRolling(t, size, restart) })
			})
		}
	}
}

func testRolling(t *testing.T, size int, restart bool) {
	p, c := newPlain(t, size)
	lease := mustAcquire(t, c.locker(t), direct(c.request(past(0))))
	rivals, stop := context.WithCancel(t.Context())
	won := make(chan locking.Lease, 2)
	waitBehind(rivals, t, c, won, func() time.Time { return time.Time{} })
	waitBehind(rivals, t, c, won, time.Now) // ticks that restarted nodes can vouch for
	for node := range size {
		p.stop(node)
		keep(t, lease, c, c.cfg.TTL+c.cfg.TTL/2)
		if restart {
			p.restart(1, node)
		}
		p.start(node)
	}
	stop()
	synctest.Wait()
	select {
	case rival := <-won:
		t.Errorf("%+v was granted beside the lease", rival.Claim())
	default:
	}
	mustRelease(t, lease)
}

// waitBehind waits for the lock in the background until ctx ends, each time for another tick.
func waitBehind(ctx context.Context, t *testing.T, c *cluster, won chan<- locking.Lease, tick func() time.Time) {
	l := c.locker(t)
	go func() {
		for ctx.Err() == nil {
			req := c.request(tick().Truncate(time.Millisecond))
			if lease, err := locking.Acquire(ctx, l, req, locking.Retry{Tries: 32}); err == nil {
				won <- lease
				return
			}
		}
	}()
}

// Nodes lose their memory one after the other. Each is asked for the claim again, so the
// lease outlives the memory of all nodes.
func TestLeaseReturnsToWipedNodes(t *testing.T) {
	for name, tick := range map[string]bool{"tick": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
				req := c.request(time.Time{})
				if tick {
					req.Tick = past(0)
				}
				lease := mustAcquire(t, c.locker(t), direct(req))
				for node := range 5 {
					p.stop(node)
					keep(t, lease, c, c.cfg.TTL+c.cfg.TTL/2)
					p.wipe(1, node)
					p.start(node)
					keep(t, lease, c, c.cfg.TTL/3) // a single round
				}
				if other, err := c.locker(t).TryAcquire(t.Context(), c.request(past(1))); err == nil {
					t.Errorf("%+v was granted beside the lease", other.Claim())
				}
				mustRelease(t, lease)
			})
		})
	}
}

// A waiting request checks whether the lock is free before it takes anything.
func TestWaitingAsksFirst(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		synctest.Wait()
		p.since()
		if _, err := l.TryAcquire(t.Context(), waiting(c.request(past(1)))); !errors.Is(err, locking.ErrTaken) {
			t.Errorf("TryAcquire = %v", err)
		}
		synctest.Wait()
		if got := p.since(); got != "look 5" {
			t.Errorf("waiting costs %q, want to look only", got)
		}
		mustRelease(t, lease)
		synctest.Wait()
		p.since()
		mustRelease(t, mustAcquire(t, l, waiting(c.request(past(1)))))
		synctest.Wait()
		if got := p.since(); got != "commit 5, finish 5, lock 5, look 5" {
			t.Errorf("a claim after waiting costs %q", got)
		}
	})
}

// The locks of a dead holder have expired. The claim of the next tick takes two rounds at
// once, as the lease might live elsewhere.
func TestClaimAfterACrash(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		dead := mustAcquire(t, l, direct(c.request(past(0))))
		time.Sleep(2 * c.cfg.TTL)
		p.since()
		lease := mustAcquire(t, l, direct(c.request(past(1))))
		synctest.Wait()
		if got := p.since(); got != "commit 10, lock 5" {
			t.Errorf("it costs %q", got)
		}
		if lease.Claim().Token <= dead.Claim().Token {
			t.Errorf("token %d after %d", lease.Claim().Token, dead.Claim().Token)
		}
		mustRelease(t, lease)
	})
}

// A lease followed by another claim is lost, for any way it was won and any quorums; the
// next is acquired at once.
func TestSupersededLeaseIsLost(t *testing.T) {
	for name, away := range map[string][]int{"by the same nodes": {3, 4}, "by others": {0, 1}} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %v", name, plain), func(t *testing.T) {
				onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) { testSuperseded(t, p, c, plain, away...) })
			})
		}
	}
}

func testSuperseded(t *testing.T, p *plainNodes, c *cluster, plain bool, away ...int) {
	l := plainLocker(t, c)
	first, next := direct(c.request(past(0))), direct(c.request(past(1)))
	if plain {
		first.Tick, next.Tick = time.Time{}, time.Time{}
	}
	p.stop(3, 4)
	lease := mustAcquire(t, l, first)
	synctest.Wait()
	p.loseLocks()
	p.start(3, 4)
	time.Sleep(5 * time.Second) // they are found to be up
	p.stop(away...)
	mustRelease(t, mustAcquire(t, l, next))
	p.start(away...)
	time.Sleep(5 * time.Second)
	if err := lease.Extend(t.Context()); !errors.Is(err, locking.ErrLeaseLost) || errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Extend = %v, want %v", err, locking.ErrLeaseLost)
	}
	if plain {
		begun := time.Now()
		again, err := locking.AcquireOrExtend(t.Context(), l, lease, first, locking.Retry{Tries: 2})
		if err != nil || again == lease {
			t.Fatalf("AcquireOrExtend = %v", err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("AcquireOrExtend took %v", took)
		}
		mustRelease(t, again)
	}
	synctest.Wait()
}

// To forget one job takes nothing from the lease of another: a node of five may die.
func TestForgetLeavesOtherLeases(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		time.Sleep(time.Second)
		gone := c.request(past(1))
		gone.Name = "gone"
		p.stop(0, 1) // whatever quorum it has
		mustRelease(t, mustAcquire(t, l, direct(gone)))
		p.start(0, 1)
		time.Sleep(5 * time.Second)
		if err := Forget(t.Context(), l.set, "gone"); err != nil {
			t.Fatal(err)
		}
		p.stop(0, 1)
		keep(t, lease, c, 2*c.cfg.TTL)
		mustRelease(t, lease)
	})
}

// An operator can take a lock away as long as its lease can be extended: also if few
// nodes have the lock at the moment.
func TestEvictWhileTheLeaseLives(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		p.stop(3, 4)
		l := c.locker(t)
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		p.restart(1, 0, 1)
		p.start(3, 4)
		time.Sleep(2 * time.Second)
		h, err := Evict(t.Context(), l.set, "job", 0, "it hangs")
		if err != nil || h.Token != lease.Claim().Token {
			t.Fatalf("Evict = %v, %v", h, err)
		}
		why, ok := errors.AsType[*locking.EvictedError](lease.Extend(t.Context()))
		if !ok || why.Reason != "it hangs" {
			t.Errorf("Extend = %v, want the operator's words", why)
		}
	})
}

// Any rule of a claim marks a node as used: two of three that lost their memory do not vote
// again by init, and a finished tick stays finished.
func TestInitRefusesAfterAnyWrite(t *testing.T) {
	for _, write := range []string{"commit", "lock", "extend", "finish", "void"} {
		t.Run(write, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testInitAfter(t, write) })
		})
	}
}

// testInitAfter makes two of three nodes claim and finish a tick; the third gets one
// request only.
func testInitAfter(t *testing.T, write string) {
	p, c := newPlain(t, 3)
	l := plainLocker(t, c)
	p.stop(2)
	lease := mustAcquire(t, l, direct(c.request(past(0))))
	mustRelease(t, lease)
	_ = l.Close()
	p.start(2)
	other := newTry(plainLocker(t, c), c.request(past(0)), "another try")
	other.chooseNumbers(nil)
	queries := map[string]query{
		"commit": other.commitQuery(false), "lock": other.lockQuery(), "extend": other.query(scripts.Extend, leavesNothing),
		"finish": other.finishQuery(nil, false), "void": other.voidQuery(),
	}
	time.Sleep(5 * time.Second)
	askAt(t, other, 2, queries[write])
	p.wipe(1, 0, 1)
	if err := c.open(t).Init(t.Context(), false); !errors.Is(err, locking.ErrRefused) {
		t.Errorf("Init = %v, though one of the nodes has served", err)
	}
	if again, err := plainLocker(t, c).TryAcquire(t.Context(), c.request(past(0))); err == nil {
		t.Errorf("the finished tick was granted again: %+v", again.Claim())
	}
}

// A request that arrives after all has ended finds a tombstone.
func TestLateRequestsFindATombstone(t *testing.T) {
	for name, end := range map[string]func(*testing.T, locking.Lease){
		"released": mustReleaseIn,
		"given back": func(t *testing.T, lease locking.Lease) {
			if err := lease.Void(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
				p.set(func(f *faults) { f.late["commit n4"] = 10 * time.Second })
				l := c.locker(t)
				lease := mustAcquire(t, l, direct(c.request(past(0))))
				time.Sleep(time.Second) // its timeout has passed
				end(t, lease)
				time.Sleep(5 * time.Second)
				if got := p.locks(); got != "" {
					t.Errorf("locks are left at %s", got)
				}
				time.Sleep(10 * time.Second)
				if got := p.locks(); got != "" {
					t.Errorf("a late request has left a lock at %s", got)
				}
			})
		})
	}
}

func mustReleaseIn(t *testing.T, lease locking.Lease) { mustRelease(t, lease) }

// A node whose reply was lost is asked the same again within the try.
func TestSilentNodesAreAskedAgain(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := c.locker(t)
		_ = sights(t, l.Watch(c.request(past(0)), 0), 5)
		p.since()
		p.set(func(f *faults) { f.mute["commit n0"], f.mute["commit n1"], f.mute["commit n2"] = 1, 1, 1 })
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		time.Sleep(time.Second)
		if got := lease.Claim(); got.Poll.Rounds != 1 || p.since() == "commit 5" {
			t.Errorf("the claim %+v was won though nobody was asked again", got)
		}
		mustRelease(t, lease)
	})
}

// A try that was given up says whether others may have seen a claim: if a quorum may have
// accepted COMMIT, or may come to.
func TestRefusalSaysWhetherTheClaimMayShow(t *testing.T) {
	for name, tt := range map[string]struct {
		fail   func(*faults)
		direct bool
		shows  bool
	}{
		"replies are lost":                           {func(f *faults) { f.mute["commit n0"], f.mute["commit n1"], f.mute["commit n2"] = 9, 9, 9 }, true, true},
		"COMMIT is late":                             {func(f *faults) { f.late["commit n2"], f.late["commit n3"], f.late["commit n4"] = 9e9, 9e9, 9e9 }, true, true},
		"replies of LOCK are lost":                   {func(f *faults) { f.mute["lock n0"], f.mute["lock n1"], f.mute["lock n2"] = 9, 9, 9 }, false, false},
		"replies to round 2 are lost":                {func(f *faults) { f.mute["commit n0"], f.mute["commit n1"], f.mute["commit n2"] = 9, 9, 9 }, false, true},
		"another holds the lock, and two are silent": {func(f *faults) { f.mute["commit n3"], f.mute["commit n4"] = 9, 9 }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
				l, req := plainLocker(t, c), c.request(past(0))
				_ = sights(t, l.Watch(req, 0), 5)
				if strings.HasPrefix(name, "another") {
					mustAcquire(t, l, direct(c.request(past(1))))
				}
				p.set(tt.fail)
				req.Direct = tt.direct
				_, err := l.TryAcquire(t.Context(), req)
				refused, ok := errors.AsType[*locking.AcquireError](err)
				if !ok || refused.MayShow != tt.shows {
					t.Errorf("TryAcquire = %v, %+v; want MayShow %v", err, refused, tt.shows)
				}
				time.Sleep(20 * time.Second) // late requests arrive
			})
		})
	}
}
