package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A lifetime is one node whose clock and memory a test controls.
type lifetime struct {
	t     *testing.T
	minis *redistest.Minis
	grace time.Duration
}

// begin opens the node for a new replica, formatting it if it is blank.
func (l lifetime) begin(clock time.Time) *nodes.Set {
	l.t.Helper()
	l.minis.Node(0).SetTime(clock)
	set, err := nodes.Open(nodes.Config{
		Nodes: []nodes.NodeConfig{{URL: l.minis.URLs()[0]}}, Dial: l.minis.Dial, Embedded: true,
		Timeout: 200 * time.Millisecond, TTL: time.Second, Grace: l.grace,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = set.Close() })
	if err := set.Join(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return set
}

// ask sends one request as the Locker would, and returns the node's word.
func (l lifetime) ask(set *nodes.Set, script *nodes.Script, v string, tick time.Time, rest ...any) string {
	l.t.Helper()
	keys := []string{set.JobKey("j", "lock"), set.JobKey("j", "claim"), set.Key("dead", v), set.JobKey("j", "runs"), set.JobKey("j", "shares")}
	args := append([]any{v, locking.StreamSchedule, tick.UnixMilli(), 900, "0"}, rest...)
	reply := set.Nodes()[0].Call(l.t.Context(), script, keys, args...)
	if reply.Err != nil {
		l.t.Fatal(reply.Err)
	}
	return reply.Code
}

func (l lifetime) commit(set *nodes.Set, v string, tick time.Time, token uint64) string {
	l.t.Helper()
	return l.ask(set, commitScript, v, tick, token, "0", 1, "holder", 10, "")
}

// TestClockSetBackAcrossALoss: a node accepts the largest token and the latest
// tick it can, forgets everything, and comes back with its clock set back by
// half a grace, the most that is allowed for. It must accept neither again.
func TestClockSetBackAcrossALoss(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{2 * time.Second, 4001 * time.Millisecond, 20 * time.Second} {
		for _, ms := range []int{0, 1, 499, 500, 999} {
			t.Run(fmt.Sprintf("%v, %d ms", grace, ms), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { clockSetBack(t, grace, ms) })
			})
		}
	}
}

func clockSetBack(t *testing.T, grace time.Duration, ms int) {
	t.Helper()
	l := lifetime{t, redistest.MiniN(t, 1), grace}
	start := time.Date(2026, 12, 1, 2, 0, 0, ms*1e6, time.UTC)
	set := l.begin(start)
	then := start.Add(3 * grace)
	l.minis.Node(0).SetTime(then)

	last := then.Add(grace / 2).Truncate(time.Millisecond)
	if got := l.ask(set, acquireScript, "x", last.Add(time.Millisecond), "0"); got != codeFuture {
		t.Errorf("a tick beyond half a grace: %s", got)
	}
	limit := uint64(float64(then.UnixMilli()+grace.Milliseconds()/2) / 1000 * (1 << 20))
	var largest uint64
	for token := limit + 2<<20; largest == 0 && token >= limit-1<<18; token -= 1 << 17 {
		if l.commit(set, fmt.Sprint("v", token), last, token) == codeOK {
			largest = token
		}
	}
	if largest == 0 {
		t.Fatal("no token at the limit was accepted: the test proves nothing")
	}
	l.minis.Node(0).SetTime(then)
	l.minis.Node(0).FlushAll()

	born := then.Add(-grace / 2)
	again := l.begin(born)
	for after := time.Duration(0); after <= 2*grace; after += grace / 20 {
		now := born.Add(after)
		l.minis.Node(0).SetTime(now)
		if got := l.ask(again, acquireScript, "y", last, "0"); got != codeAbstain && got != codeFuture {
			t.Fatalf("%v after its return, the tick that may have run: %s", after, got)
		}
		if got := l.commit(again, "z", now.Add(grace/2).Truncate(time.Millisecond), largest); got == codeOK {
			t.Fatalf("%v after its return, a token that was accepted before: %s", after, got)
		}
	}
}

// TestForgottenLeaseOutlastsFastClock: a replica whose clock is ahead asks a
// restarted node for a tick beyond the floor, while a lease lasts that the node
// has forgotten.
func TestForgottenLeaseOutlastsFastClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, forgottenLease)
}

func forgottenLease(t *testing.T) {
	t.Helper()
	l := lifetime{t, redistest.MiniN(t, 1), 4 * time.Second}
	born := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	set := l.begin(born)
	tick := born.Add(l.grace + time.Millisecond) // vouched for, once its time has come
	for after, want := range map[time.Duration]string{
		l.grace / 2:                  codeFuture,
		l.grace:                      codeFuture,
		l.grace + time.Millisecond:   codeOK,
		l.grace + 2*time.Millisecond: codeOK,
	} {
		l.minis.Node(0).SetTime(born.Add(after))
		if got := l.ask(set, acquireScript, "a", tick, "0"); got != want {
			t.Errorf("%v after its restart: %s, want %s", after, got, want)
		}
	}
}
