package scripts_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// A lifetime is one node whose clock and memory a test controls.
type lifetime struct {
	t     *testing.T
	minis *redistest.Minis
	grace time.Duration
}

// begin opens the node for a new replica, formatting it if it is blank.
func (l lifetime) begin(clock time.Time) desk {
	l.t.Helper()
	l.minis.Node(0).SetTime(clock)
	return newDesk(l.t, membership.Config{
		Nodes: []membership.NodeConfig{{URL: l.minis.URLs()[0]}}, Dial: l.minis.Dial, Embedded: true,
		Timeout: 200 * time.Millisecond, TTL: time.Second, Grace: l.grace,
	})
}

// A desk sends requests to a node as a Locker does.
type desk struct {
	t   *testing.T
	set *membership.Set
}

func newDesk(t *testing.T, c membership.Config) desk {
	t.Helper()
	set, err := membership.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	if err := set.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return desk{t, set}
}

// ask sends one request, and returns the node's word.
func (d desk) ask(script *membership.Script, c scripts.Claim, rest ...any) string {
	d.t.Helper()
	var tick any = ""
	if c.Tick != 0 {
		tick = c.Tick
	}
	keys := scripts.Keys(d.set, "j", c.Stream, time.UnixMilli(c.Tick), c.Overlaps, c.Owner)
	args := append([]any{c.Owner, c.Stream, tick, 900, bit(c.Overlaps)}, rest...)
	reply := d.set.Nodes()[0].Call(d.t.Context(), script, keys, args...)
	if reply.Err != nil {
		d.t.Fatal(reply.Err)
	}
	return reply.Code
}

func (d desk) lock(c scripts.Claim) string {
	d.t.Helper()
	return d.ask(scripts.Lock, c, bit(c.Mode == locking.AtLeastOnce))
}

func (d desk) commit(c scripts.Claim) string {
	d.t.Helper()
	return d.ask(scripts.Commit, c, bit(c.Mode == locking.AtLeastOnce), c.Token, c.Attempt, "0", c.Pack(), 3)
}

func claim(v string, tick time.Time, token uint64) scripts.Claim {
	return scripts.Claim{Owner: v, Stream: locking.StreamSchedule, Tick: tick.UnixMilli(), Token: token, Attempt: 1, Holder: "holder"}
}

// A node accepts the largest token and the latest tick it can, forgets everything, and
// comes back with its clock set back by half a grace, the most that is allowed for. It must
// accept neither again.
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
	node := l.begin(start)
	then := start.Add(3 * grace)
	l.minis.Node(0).SetTime(then)

	last := then.Add(grace / 2).Truncate(time.Millisecond)
	if got := node.lock(claim("x", last.Add(time.Millisecond), 0)); got != "FUTURE" {
		t.Errorf("a tick beyond half a grace: %s", got)
	}
	limit := uint64(float64(then.UnixMilli()+grace.Milliseconds()/2) / 1000 * (1 << 20))
	var largest uint64
	for token := limit + 2<<20; largest == 0 && token >= limit-1<<18; token -= 1 << 17 {
		if node.commit(claim(fmt.Sprint("v", token), last, token)) == "OK" {
			largest = token
		}
	}
	if largest == 0 {
		t.Fatal("no token at the limit was accepted: the test proves nothing")
	}
	l.minis.Node(0).FlushAll()

	born := then.Add(-grace / 2)
	again := l.begin(born)
	for after := time.Duration(0); after <= 2*grace; after += grace / 20 {
		now := born.Add(after)
		l.minis.Node(0).SetTime(now)
		if got := again.lock(claim("y", last, 0)); got != "ABSTAIN" && got != "FUTURE" {
			t.Fatalf("%v after its return, the tick that may have run: %s", after, got)
		}
		if got := again.commit(claim("z", now.Add(grace/2).Truncate(time.Millisecond), largest)); got == "OK" {
			t.Fatalf("%v after its return, a token that was accepted before: %s", after, got)
		}
	}
}

// A replica whose clock is ahead asks a restarted node for a tick beyond the floor, while
// a lease lasts that the node has forgotten.
func TestForgottenLeaseOutlastsFastClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lifetime{t, redistest.MiniN(t, 1), 4 * time.Second}
		born := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
		node := l.begin(born)
		tick := born.Add(l.grace + time.Millisecond) // vouched for, once its time has come
		for after, want := range map[time.Duration]string{
			l.grace / 2:                  "FUTURE",
			l.grace:                      "FUTURE",
			l.grace + time.Millisecond:   "OK",
			l.grace + 2*time.Millisecond: "OK",
		} {
			l.minis.Node(0).SetTime(born.Add(after))
			if got := node.lock(claim("a", tick, 0)); got != want {
				t.Errorf("%v after its restart: %s, want %s", after, got, want)
			}
		}
	})
}
