package redlock

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
)

// Any minority may be gone, no majority, for each number of nodes.
func TestClusterSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5, 7} {
		for gone := range n + 1 {
			t.Run(fmt.Sprintf("%d of %d gone", gone, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testClusterSize(t, n, gone) })
			})
		}
	}
}

func testClusterSize(t *testing.T, n, gone int) {
	t.Helper()
	minis := redistest.MiniN(t, n)
	c := newMiniCluster(t, minis)
	time.Sleep(time.Hour)
	l := c.locker(t)
	first := mustAcquire(t, l, c.request(past(0)))
	for i := range gone {
		minis.Stop(i)
	}
	if 2*gone >= n {
		if err := first.Extend(t.Context()); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("Extend = %v, want %v", err, locking.ErrNoQuorum)
		}
		_, err := l.TryAcquire(t.Context(), c.request(past(1)))
		if !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("TryAcquire = %v, want %v", err, locking.ErrNoQuorum)
		}
		// Nobody knows the end: Release tries until the lease is over.
		if err := first.Release(t.Context(), nil); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Release = %v, want %v", err, locking.ErrLeaseLost)
		}
		if now := time.Now(); now.Before(first.Deadline()) {
			t.Errorf("Release gave up at %v, before the deadline %v", now, first.Deadline())
		}
		return
	}
	if err := first.Extend(t.Context()); err != nil {
		t.Errorf("Extend = %v", err)
	}
	mustRelease(t, first)
	second := mustAcquire(t, l, c.request(past(1)))
	if got, want := second.Claim().Votes, (locking.Votes{For: n - gone, Of: n}); got != want {
		t.Errorf("Votes = %v, want %v", got, want)
	}
	mustRelease(t, second)
}

// The deadline is counted from before the first message, drift taken off, and
// moves with each extension.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		lease := mustAcquire(t, c.locker(t), c.request(past(0)))
		for range 3 {
			want := time.Now().Add(c.cfg.TTL - c.cfg.TTL/100 - 2*time.Millisecond)
			if got := lease.Deadline(); !got.Equal(want) {
				t.Errorf("Deadline = %v, want %v", got, want)
			}
			time.Sleep(c.cfg.TTL / 3)
			if err := lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A replica that is held up between the rounds for longer than its locks last
// gives up, and leaves the tick to others.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		l := c.locker(t)
		a := newAttempt(l, c.request(past(0)))
		if !a.acquire(t.Context()) {
			t.Fatal(a.refusal(false))
		}
		time.Sleep(c.cfg.TTL)
		if _, err := a.commit(t.Context(), a.deadline(a.votes)); !errors.Is(err, locking.ErrTooSlow) {
			t.Errorf("commit = %v, want %v", err, locking.ErrTooSlow)
		}
		mustRelease(t, mustAcquire(t, l, c.request(past(0))))
	})
}

// Nodes that know of no token, be it that they have forgotten it, are given one
// above all that were issued in earlier seconds.
func TestTokensFollowTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		c := newMiniCluster(t, minis)
		l := c.locker(t)
		for n := range 3 {
			time.Sleep(time.Hour)
			lease := mustAcquire(t, l, c.request(past(n)))
			least := locking.Token(time.Now().Unix() << 20)
			if got := lease.Claim().Token; got < least {
				t.Errorf("token %d, want at least %d", got, least)
			}
			mustRelease(t, lease)
			for i := range 3 {
				minis.Node(i).Del("quorate:job:job:claim")
			}
		}
	})
}

// A competitor commits between the rounds, or before the only one, on some nodes
// only: the token must exceed what it left there, and acceptances of the smaller
// one do not count.
func TestStaleTokenIsRaised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { staleTokenIsRaised(t, false) })
	synctest.Test(t, func(t *testing.T) { staleTokenIsRaised(t, true) })
}

func staleTokenIsRaised(t *testing.T, inOneRound bool) {
	t.Helper()
	minis := redistest.MiniN(t, 5)
	c := newMiniCluster(t, minis)
	time.Sleep(time.Hour)
	l := c.locker(t)
	req := c.request(past(1))
	req.Direct = inOneRound
	a := newAttempt(l, req)
	if !inOneRound && !a.acquire(t.Context()) {
		t.Fatal(a.refusal(false))
	}
	fence := uint64(time.Now().Unix())<<20 + 77
	for i := range 3 {
		minis.Node(i).HSet("quorate:job:job:claim", "fence", fmt.Sprint(fence))
	}
	if _, err := a.commit(t.Context(), time.Now().Add(a.lasts())); err != nil {
		t.Fatal(err)
	}
	if a.ballot.token <= fence || a.ballot.attempt != 1 || count(a.votes, codeOK) != 5 {
		t.Errorf("issued %+v with %d votes, want a token above %d, attempt 1 and all votes", a.ballot, count(a.votes, codeOK), fence)
	}
	if len(a.givenUp) != 1 {
		t.Errorf("it took %d ballots, want 2", len(a.givenUp)+1)
	}
	for i := range 5 {
		runs, err := minis.Node(i).ZMembers("quorate:job:job:runs")
		if err != nil || len(runs) != 1 || runs[0] != "S"+a.ballot.record {
			t.Errorf("node %d has the records %v (%v), want that of the token issued", i+1, runs, err)
		}
		if got := minis.Node(i).HGet("quorate:job:job:claim", "schedule.token"); got != fmt.Sprint(a.ballot.token) {
			t.Errorf("node %d has token %s, want %d", i+1, got, a.ballot.token)
		}
	}
}

// Release says at once that others may have worked, if the nodes have lost the
// lock before its time.
func TestReleaseAfterLostLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		l := c.locker(t)
		lease := mustAcquire(t, l, c.request(past(0)))
		for i := range 5 {
			minis.Node(i).Del("quorate:job:job:lock")
		}
		mustRelease(t, mustAcquire(t, l, c.request(past(1))))
		began := time.Now()
		if err := lease.Release(t.Context(), nil); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Release = %v, want %v", err, locking.ErrLeaseLost)
		}
		if now := time.Now(); !now.Equal(began) {
			t.Errorf("Release took %v, want one round", now.Sub(began))
		}
	})
}

// Two nodes accepted the first ballot and two others the second: no quorum of
// either, though four said yes.
func TestBallotsDoNotMix(t *testing.T) {
	t.Parallel()
	a := ballotOf(t, yes, yes, stale, down, down)
	a.ballot = ballot{token: 10, attempt: 1, record: "first"}
	a.nextBallot()
	if got := count(a.votes, codeOK); got != 0 {
		t.Errorf("%d acceptances count for the next ballot, want none", got)
	}
	if a.ballot.token <= stale.fence || len(a.givenUp) != 1 {
		t.Errorf("ballot %+v after %v", a.ballot, a.givenUp)
	}
}

// A rerun whose attempt number was overtaken takes a larger one.
func TestStaleAttemptIsRaised(t *testing.T) {
	t.Parallel()
	overtaken := stale
	overtaken.attempt = 4
	a := ballotOf(t, yes, yes, overtaken, overtaken, down)
	a.ballot = ballot{token: 1 << 60, attempt: 3}
	a.nextBallot()
	if a.ballot.attempt != 5 || a.ballot.token != 1<<60+1 {
		t.Errorf("ballot %+v, want attempt 5 and the next token", a.ballot)
	}
}

// What an attempt is known by must be its own: two attempts for the same tick
// by the same replica would otherwise free each other's locks.
func TestOwnerIsUnique(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 3)
	seen := map[string]bool{}
	for range 1000 {
		a := newAttempt(l, locking.Request{Name: "job", Tick: past(0), TTL: l.set.TTL(), Holder: "r1"})
		if seen[a.v] {
			t.Fatalf("two attempts are known as %s", a.v)
		}
		seen[a.v] = true
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 3)
	good := locking.Request{Name: "job", Tick: past(0), TTL: l.set.TTL()}
	if err := l.check(good); err != nil {
		t.Fatalf("check of a good request = %v", err)
	}
	for name, spoil := range map[string]func(*locking.Request){
		"no name":                    func(r *locking.Request) { r.Name = "" },
		"tick in microseconds":       func(r *locking.Request) { r.Tick = r.Tick.Add(time.Microsecond) },
		"tick before 1970":           func(r *locking.Request) { r.Tick = time.Unix(-5, 0) },
		"ttl of microseconds":        func(r *locking.Request) { r.TTL -= time.Microsecond },
		"ttl of four node timeouts":  func(r *locking.Request) { r.TTL = 4 * l.set.Timeout() },
		"ttl longer than the nodes'": func(r *locking.Request) { r.TTL += time.Millisecond },
	} {
		req := good
		spoil(&req)
		if _, err := l.TryAcquire(t.Context(), req); err == nil || errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("%s: TryAcquire = %v, want the mistake", name, err)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 1)
	for name, cfg := range map[string]Config{
		"drift":     {DriftFactor: 0.5},
		"keep":      {Keep: -1},
		"clean for": {CleanFor: -time.Second},
	} {
		if _, err := New(l.set, cfg); err == nil {
			t.Errorf("%s: New accepts %+v", name, cfg)
		}
	}
}
