package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// A scripted Locker refuses for the given reasons, one after the other, then grants. With
// repeat, the last reason is permanent.
type scripted struct {
	locks   locking.Watcher
	reasons []error
	repeat  bool
	slow    time.Duration // before each answer
	holder  string        // of this tick, not of an earlier one; empty: r9 of an earlier one
	shown   bool          // others may have seen the first try as granted

	mu    sync.Mutex
	asked []time.Time
	reqs  []locking.Request
}

func (m *scripted) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	m.mu.Lock()
	m.asked, m.reqs = append(m.asked, time.Now()), append(m.reqs, req)
	shown := m.shown && len(m.asked) == 1
	var reason error
	if len(m.reasons) > 0 {
		reason = m.reasons[0]
		if len(m.reasons) > 1 || !m.repeat {
			m.reasons = m.reasons[1:]
		}
	}
	m.mu.Unlock()
	time.Sleep(m.slow)
	if reason == nil {
		return m.locks.TryAcquire(context.WithoutCancel(ctx), req)
	}
	err := &locking.AcquireError{
		Reason: reason, Name: req.Name, Holder: "r9", HolderTick: req.Tick.Add(-time.Second),
		Nodes: []locking.NodeError{{Node: "a", Err: errors.New("down")}}, Votes: locking.Votes{Of: 1},
		MayShow: shown,
	}
	if m.holder != "" {
		err.Holder, err.HolderTick = m.holder, req.Tick
	}
	return nil, err
}

// Two replicas may each take a try of the other for a claim, after both have given up. So one that
// others may rely on says that the tick did not run; a run's record replaces that.
func TestTickThatTwoGaveUp(t *testing.T) {
	t.Parallel()
	for shown, want := range map[bool][]string{
		true:  {"10s missed: undecided: r9 took the lock for this tick but never said that it runs it"},
		false: nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum, locking.ErrClaimed}, repeat: true, holder: "r9", shown: shown}
			stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(nil))))
			time.Sleep(15 * time.Second)
			c.stop(stop)
			c.wantTicks("j", want...)
		})
	}
}

func TestReactions(t *testing.T) {
	t.Parallel()
	const once, always = false, true
	const window = 2 * time.Second // the tick is at 10 s, the next at 20 s
	tests := []struct {
		name   string
		reason error
		repeat bool
		ledger []string // of tick 10 s
		event  string   // once
		// tries of tick 10 s: exactly one, or several
		several bool
	}{
		{"done", locking.ErrDone, always, nil, "lost j 10s", false},
		{"claimed", locking.ErrClaimed, always, nil, "lost j 10s", false},
		{"superseded", locking.ErrSuperseded, always, []string{"10s missed: superseded: a later tick was claimed before this replica could claim this one"}, "missed j 10s", false},
		{"unvouched", locking.ErrUnvouched, always, []string{"10s missed: unvouched: the store can no longer tell whether the tick has run: a: down"}, "missed j 10s", false},
		{"refused", locking.ErrRefused, always, []string{"10s missed: refused: the store refuses the claim: a: down"}, "missed j 10s", true},
		{"taken", locking.ErrTaken, always, []string{"10s skipped: overlap: r9 has not ended its run of tick 2000-01-01T00:00:09Z; its lease may be over"}, "skipped j 10s", true},
		{"split", locking.ErrSplit, always, []string{"10s missed: split: competing replicas blocked one another until the window closed"}, "missed j 10s", true},
		{"no quorum", locking.ErrNoQuorum, always, []string{"10s missed: no quorum: a: down"}, "missed j 10s", true},
		{"too slow", locking.ErrTooSlow, always, []string{"10s missed: too slow: the claim was complete too late for its lease; the store was slow, or this replica was frozen or busy: a: down"}, "missed j 10s", true},
		{"future", locking.ErrFuture, always, []string{"10s missed: clock: this replica's clock is too far ahead of the store's; check its time: a: down"}, "missed j 10s", true},
		{"taken once", locking.ErrTaken, once, []string{"10s succeeded"}, "finished j 10s succeeded", true},
		{"split once", locking.ErrSplit, once, []string{"10s succeeded"}, "finished j 10s succeeded", true},
		{"refused once", locking.ErrRefused, once, []string{"10s succeeded"}, "finished j 10s succeeded", true},
		{"no quorum once", locking.ErrNoQuorum, once, []string{"10s succeeded"}, "finished j 10s succeeded", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				m := &scripted{locks: c.locks, reasons: []error{tt.reason}, repeat: tt.repeat}
				c.locker = m
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.Window = window }, every(t, "10s", "j", c.handler(nil))))
				time.Sleep(15 * time.Second)
				c.stop(stop)
				c.wantTicks("j", tt.ledger...)
				c.saw(1, tt.event)
				if several := len(m.asked) > 1; several != tt.several {
					t.Errorf("asked %d times", len(m.asked))
				}
				for _, at := range m.asked {
					if d := at.Sub(c.begun); d < 10*time.Second || d >= 10*time.Second+window { // not rounded
						t.Errorf("asked at %v, outside the window", d)
					}
				}
			})
		})
	}
}

// The replica with rank 0 claims in one round. Behind another lease it first checks whether
// that is free, and after silence it claims in two rounds.
func TestTriesBehindALeaseWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		m := &scripted{locks: c.locks, reasons: []error{locking.ErrTaken, locking.ErrSplit, locking.ErrNoQuorum, nil}}
		c.locker = m
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s succeeded")
		type way struct{ direct, waiting bool }
		var ways []way
		for _, req := range m.reqs {
			ways = append(ways, way{req.Direct, req.Waiting})
		}
		if want := []way{{direct: true}, {waiting: true}, {waiting: true}, {}}; !slices.Equal(ways, want) {
			t.Errorf("tries %+v, want %+v", ways, want)
		}
	})
}

func TestRetriesStop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*scheduler.Config)
		most   time.Duration // after the tick
	}{
		{"at the end of the window", func(c *scheduler.Config) { c.Window = time.Second }, time.Second},
		{"by default after two leases", func(*scheduler.Config) {}, 6 * time.Second},
		{"when the next tick comes", func(c *scheduler.Config) { c.Window = time.Hour }, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				m := &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true}
				c.locker = m
				stop := c.start(c.replica("r1", tt.change, every(t, "10s", "j", c.handler(nil))))
				time.Sleep(20*time.Second - time.Millisecond)
				c.stop(stop)
				last := m.asked[len(m.asked)-1].Sub(c.begun) - 10*time.Second // not rounded
				if last >= tt.most || last < tt.most-300*time.Millisecond {
					t.Errorf("last try %v after the tick, window %v", last, tt.most)
				}
			})
		})
	}
}

// A claim that comes after running jobs were cancelled, or too late to begin, is given
// back: another replica may run the tick.
func TestUselessClaimIsVoided(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		slow time.Duration // the locker's answer
		stop time.Duration // when the drain begins
		says string
	}{
		{"runs are cancelled", 2 * time.Second, 11 * time.Second, "10s missed: this replica drained before it could claim the tick"},
		{"lease nearly over", 0, 15 * time.Second, "10s missed: too slow: the claim was complete too late for its lease; the store was slow, or this replica was frozen or busy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.locker = &scripted{locks: c.locks, slow: tt.slow}
				if tt.slow == 0 {
					c.locker = late{c.locks}
				}
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
					cfg.Window, cfg.DrainTimeout = 2*time.Second, 500*time.Millisecond
				}, every(t, "10s", "j", c.handler(nil))))
				time.Sleep(tt.stop)
				c.stop(stop)
				c.wantTicks("j", tt.says)
				if len(c.runs) != 0 {
					t.Errorf("the job ran: %v", c.runs)
				}
				if _, err := c.locks.TryAcquire(t.Context(), locking.Request{Name: "j", Tick: c.begun.Add(10 * time.Second), TTL: time.Second}); err != nil {
					t.Errorf("the tick is not free for another replica: %v", err)
				}
			})
		})
	}
}

// A claim that is won while the drain begins is run: the other replicas know that the tick
// is claimed.
func TestClaimWonWhileDrainBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, slow: 2 * time.Second}
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s succeeded")
	})
}

// A late Locker answers when its lease is nearly over.
type late struct{ locks locking.Watcher }

func (l late) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.locks.TryAcquire(ctx, req)
	time.Sleep(req.TTL - 100*time.Millisecond)
	return lease, err
}

// While a claim hangs, new ticks are recorded one by one.
func TestTicksBehindAHangingClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, slow: 3500 * time.Millisecond}
		stop := c.start(c.replica("r1", nil, every(t, "1s", "j", c.handler(nil))))
		time.Sleep(8500 * time.Millisecond)
		c.stop(stop)
		const behind = ": an earlier tick of the job was still being decided on this replica"
		c.wantTicks("j",
			"1s missed: no quorum: a: down", "2s missed"+behind, "3s missed"+behind,
			// The tick that waited when the claim returned is tried at once.
			"4s succeeded", "5s missed"+behind, "6s missed"+behind,
			"7s missed"+behind, "8s succeeded",
		)
	})
}

// A process that is paused between claim and start gives the claim back.
func TestPausedBeforeTheWorkBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			on(cfg, event.Claimed, func(event.Event) { time.Sleep(cfg.TTL) })
		}, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s missed: the claim was won too late to begin the work, and given back")
		if len(c.runs) != 0 {
			t.Errorf("the job ran: %v", c.runs)
		}
	})
}

// A tick is decided before the next one comes, not in its own time.
func TestDecidedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true}
		var late []time.Duration
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			on(cfg, event.Decided, func(e event.Event) {
				if took := time.Since(e.Entry.Tick); took >= time.Second {
					late = append(late, took)
				}
			})
		}, every(t, "1s", "j", c.handler(nil))))
		time.Sleep(60500 * time.Millisecond)
		c.stop(stop)
		if len(late) != 0 {
			t.Errorf("ticks decided so long after they came: %v", late)
		}
	})
}
