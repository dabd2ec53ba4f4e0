package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// refusalOf is that of a try whose nodes voted so.
func refusalOf(t *testing.T, tick time.Time, votes ...vote) *locking.AcquireError {
	t.Helper()
	l := newTestLocker(t, len(votes))
	for i := range votes {
		votes[i].node = fmt.Sprintf("n%d", i+1)
	}
	return newTry(l, locking.Request{Name: "job", Tick: tick, TTL: l.set.TTL()}, "v").refusal(votes, false)
}

// aTick is the tick of the votes.
var aTick = time.UnixMilli(1_000_000)

// newTestLocker returns a Locker over n nodes that do not exist.
func newTestLocker(t *testing.T, n int) *Locker {
	t.Helper()
	cfg := membership.Config{}
	for i := range n {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{Name: fmt.Sprintf("n%d", i+1), URL: fmt.Sprintf("redis://127.0.0.1:%d", i+1)})
	}
	set, err := membership.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	l, err := New(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Votes as the tables write them.
var (
	yes     = vote{code: protocol.OK}
	down    = vote{err: fmt.Errorf("%w: connection refused", client.ErrDown), unsent: true}
	silent  = vote{err: errors.New("i/o timeout")}
	foreign = vote{err: &membership.RefusedError{Reason: "it holds another list"}}
	blank   = vote{err: membership.ErrBlank}
	done    = vote{code: protocol.Done, owner: "w", holder: "b", tick: time.UnixMilli(1_000_000), token: 7}
	later   = vote{code: protocol.Later, owner: "w", holder: "b", tick: time.UnixMilli(2_000_000), token: 9}
	abstain = vote{code: protocol.Abstain, floor: time.UnixMilli(1_500_000)}
	future  = vote{code: protocol.Future}
	stale   = vote{code: protocol.Stale, fence: 12}
	// Locks of competitors that got no further.
	busyX = vote{code: protocol.Busy, owner: "x", left: time.Second}
	busyY = vote{code: protocol.Busy, owner: "y", left: time.Second}
	// A lock with its claim of another tick, and claims of the very tick.
	runs     = vote{code: protocol.Busy, owner: "w", holder: "b", tick: time.UnixMilli(900_000), token: 5, left: time.Second}
	claimedW = vote{code: protocol.Claimed, owner: "w", holder: "b", tick: time.UnixMilli(1_000_000), token: 7, left: time.Second}
	claimedZ = vote{code: protocol.Claimed, owner: "z", holder: "c", tick: time.UnixMilli(1_000_000), token: 6}
	unended  = vote{code: protocol.Unended, owner: "w", holder: "b", tick: time.UnixMilli(900_000), token: 5}
)

func TestReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		votes []vote
		want  error
	}{
		{"one node knows it is done", []vote{yes, yes, done, down, down}, locking.ErrDone},
		{"done outweighs later", []vote{later, later, later, done, yes}, locking.ErrDone},
		{"a majority has a later tick", []vote{later, later, later, yes, yes}, locking.ErrSuperseded},
		{"a minority has a later tick", []vote{later, later, yes, yes, down}, locking.ErrNoQuorum},
		{"a majority abstains", []vote{abstain, abstain, abstain, yes, yes}, locking.ErrUnvouched},
		{"later and abstain together", []vote{later, abstain, abstain, yes, yes}, locking.ErrUnvouched},
		{"too few of both", []vote{later, abstain, yes, yes, down}, locking.ErrNoQuorum},
		{"a quorum names one claim", []vote{claimedW, claimedW, claimedW, yes, yes}, locking.ErrClaimed},
		{"two name one claim", []vote{claimedW, claimedW, yes, yes, down}, locking.ErrTaken},
		{"three name two claims", []vote{claimedW, claimedW, claimedZ, yes, yes}, locking.ErrTaken},
		{"a quorum refuses", []vote{foreign, foreign, foreign, yes, yes}, locking.ErrRefused},
		{"some refuse, some are down", []vote{foreign, foreign, down, yes, yes}, locking.ErrNoQuorum},
		{"the clock is ahead of most", []vote{future, future, future, yes, yes}, locking.ErrFuture},
		{"the clock is ahead of some", []vote{future, future, down, yes, yes}, locking.ErrNoQuorum},
		{"three are down", []vote{down, down, down, yes, yes}, locking.ErrNoQuorum},
		{"three are blank", []vote{blank, blank, blank, yes, yes}, locking.ErrNoQuorum},
		{"three do not answer in time", []vote{silent, silent, silent, busyX, busyX}, locking.ErrNoQuorum},
		{"a run holds the lock", []vote{runs, runs, runs, runs, runs}, locking.ErrTaken},
		{"a run holds it on one node, and one is down", []vote{runs, down, down, yes, yes}, locking.ErrTaken},
		{"a competitor has won round one", []vote{busyX, busyX, busyX, yes, yes}, locking.ErrUnclaimed},
		{"two competitors", []vote{busyX, busyX, busyY, yes, yes}, locking.ErrSplit},
		{"one competitor, one node down", []vote{busyX, busyX, down, yes, yes}, locking.ErrSplit},
		{"a claim has not ended", []vote{unended, unended, down, yes, yes}, locking.ErrTaken},
		{"tokens overtaken to the end", []vote{stale, stale, stale, yes, yes}, locking.ErrSplit},
		{"a quorum accepted, too late", []vote{yes, yes, yes, down, down}, locking.ErrTooSlow},
		{"one node alone, down", []vote{down}, locking.ErrNoQuorum},
		{"one node alone, held", []vote{runs}, locking.ErrTaken},
		{"one node alone, claimed", []vote{claimedW}, locking.ErrClaimed},
		{"two of three", []vote{claimedW, claimedW, yes}, locking.ErrClaimed},
		{"four of seven", []vote{claimedW, claimedW, claimedW, yes, yes, yes, down}, locking.ErrTaken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := refusalOf(t, aTick, slices.Clone(tt.votes)...); !errors.Is(got, tt.want) {
				t.Errorf("refusal = %v, want %v", got, tt.want)
			}
		})
	}
}

// A lock whose claim is known, or the marker of runs that may overlap, is that of a run.
func TestClaimedLock(t *testing.T) {
	t.Parallel()
	marker := vote{code: protocol.Busy, left: time.Second}
	for name, votes := range map[string][]vote{
		"one node knows the claim": {busyX, busyX, busyX, runs, yes},
		"runs that may overlap":    {marker, marker, marker, yes, yes},
	} {
		if got := refusalOf(t, aTick, votes...); !errors.Is(got, locking.ErrTaken) || errors.Is(got, locking.ErrUnclaimed) {
			t.Errorf("%s: refusal = %v, want %v", name, got, locking.ErrTaken)
		}
	}
}

// Plain locks have no tick that could be lost for good.
func TestPlainLockIsNeverUnvouched(t *testing.T) {
	t.Parallel()
	if got := refusalOf(t, time.Time{}, abstain, abstain, abstain, yes, yes); !errors.Is(got, locking.ErrNoQuorum) {
		t.Errorf("refusal = %v, want %v", got, locking.ErrNoQuorum)
	}
}

// Every vector of yes, no and failure over five nodes, in every order.
func TestReasonOfAllVectors(t *testing.T) {
	t.Parallel()
	kinds := []vote{yes, busyX, down}
	for n := range 243 {
		votes, counts := make([]vote, 5), [3]int{}
		for i, rest := 0, n; i < 5; i, rest = i+1, rest/3 {
			votes[i] = kinds[rest%3]
			counts[rest%3]++
		}
		want := locking.ErrSplit
		switch yes, no, failed := counts[0], counts[1], counts[2]; {
		case failed >= 3:
			want = locking.ErrNoQuorum
		case yes >= 3:
			want = locking.ErrTooSlow // a refusal in spite of a quorum
		case no >= 3:
			want = locking.ErrTaken
		}
		got := refusalOf(t, aTick, votes...)
		if !errors.Is(got, want) {
			t.Errorf("%v: reason %v, want %v", counts, got.Reason, want)
		}
		if got.Votes.For != counts[0] || got.Votes.Of != 5 || len(got.Nodes) != 5-counts[0] {
			t.Errorf("%v: votes %v, %d objections", counts, got.Votes, len(got.Nodes))
		}
	}
}

func TestRefusalNamesTheHolder(t *testing.T) {
	t.Parallel()
	now := time.Now()
	held, old := runs, claimedZ
	held.received, held.left, held.token = now, 3*time.Second, 8
	e := refusalOf(t, aTick, old, held, yes, held, down)
	if e.Holder != "b" || e.HolderToken != 8 || !e.HolderTick.Equal(held.tick) || !e.Until.Equal(now.Add(3*time.Second)) {
		t.Errorf("refusal names %s, token %d, tick %v, until %v", e.Holder, e.HolderToken, e.HolderTick, e.Until)
	}
	for _, want := range []string{"job: lock is held by b", "1 of 5 votes", "n1: the tick is claimed by c with token 6", "n5: it is down: connection refused"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q lacks %q", e.Error(), want)
		}
	}
	if strings.Contains(e.Error(), "\n") {
		t.Errorf("%q has more than one line", e.Error())
	}
}

// The holder of the tick, not the claimant of a later one, whose run may be over.
func TestRefusalDoesNotNameALaterTick(t *testing.T) {
	t.Parallel()
	next := later
	next.token = claimedZ.token + 1
	e := refusalOf(t, aTick, claimedZ, next, yes)
	if !errors.Is(e, locking.ErrTaken) || e.Holder != claimedZ.holder || e.HolderToken != claimedZ.token {
		t.Errorf("%v: refusal names %s, token %d, want %s, token %d", e, e.Holder, e.HolderToken, claimedZ.holder, claimedZ.token)
	}
}

// The one who finished the tick, not the claimant of a later one.
func TestRefusalNamesWhoFinished(t *testing.T) {
	t.Parallel()
	e := refusalOf(t, aTick, done, later, later)
	if e.Holder != done.holder || e.HolderToken != 7 || !e.HolderTick.Equal(done.tick) {
		t.Errorf("refusal names %s, token %d, tick %v, want who finished the tick", e.Holder, e.HolderToken, e.HolderTick)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply membership.Reply
		want  func(vote) bool
	}{
		{"acceptance", membership.Reply{Code: "OK", Args: []string{"9007199254740991", "3"}}, func(v vote) bool {
			return v.ok() && v.fence == 1<<53-1 && v.attempt == 3
		}},
		{"bare acceptance", membership.Reply{Code: "OK"}, vote.ok},
		{"lock without a claim", membership.Reply{Code: "BUSY", Args: []string{"x", "1500", "", "", ""}}, func(v vote) bool {
			return v.owner == "x" && v.left == 1500*time.Millisecond && v.tick.IsZero() && v.token == 0
		}},
		{"claim", membership.Reply{Code: "CLAIMED", Args: []string{"x", "0", "a+%7C+b", "1700000000123", "7"}}, func(v vote) bool {
			return v.holder == "a | b" && v.token == 7 && v.tick.UnixMilli() == 1700000000123 && v.until().IsZero()
		}},
		{"abstention", membership.Reply{Code: "ABSTAIN", Args: []string{"1700000000123"}}, func(v vote) bool {
			return v.floor.UnixMilli() == 1700000000123
		}},
		{"unknown code", membership.Reply{Code: "MAYBE"}, unreadable},
		{"too short", membership.Reply{Code: "BUSY", Args: []string{"x", "1500"}}, unreadable},
		{"not a number", membership.Reply{Code: "OK", Args: []string{"9e15", "1"}}, unreadable},
		{"failure", membership.Reply{Err: errors.New("i/o timeout")}, func(v vote) bool { return unreadable(v) && v.uncertain() }},
		{"not asked", membership.Reply{Err: client.ErrDown}, func(v vote) bool { return unreadable(v) && !v.uncertain() }},
		{"server's error", membership.Reply{Err: &client.ServerError{Code: "OOM"}}, func(v vote) bool { return unreadable(v) && !v.uncertain() }},
		{"refusal", membership.Reply{Err: &membership.RefusedError{}}, func(v vote) bool { return unreadable(v) && !v.uncertain() }},
		{"blank", membership.Reply{Err: membership.ErrBlank}, func(v vote) bool { return unreadable(v) && !v.uncertain() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if v := parse(tt.reply); !tt.want(v) {
				t.Errorf("parse = %+v", v)
			}
		})
	}
}

func unreadable(v vote) bool { return v.err != nil && v.code == "" && !v.ok() }
