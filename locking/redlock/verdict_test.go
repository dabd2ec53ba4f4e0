package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// ballotOf returns an attempt whose nodes voted so.
func ballotOf(t *testing.T, votes ...vote) *attempt {
	t.Helper()
	l := newTestLocker(t, len(votes))
	a := newAttempt(l, locking.Request{Name: "job", Tick: time.UnixMilli(1_000_000), TTL: l.set.TTL()})
	for i := range votes {
		votes[i].node = fmt.Sprintf("n%d", i+1)
	}
	a.votes = votes
	return a
}

// newTestLocker returns a Locker over n nodes that do not exist.
func newTestLocker(t *testing.T, n int) *Locker {
	t.Helper()
	cfg := nodes.Config{}
	for i := range n {
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{Name: fmt.Sprintf("n%d", i+1), URL: fmt.Sprintf("redis://127.0.0.1:%d", i+1)})
	}
	set, err := nodes.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	l, err := New(set, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Votes as the tables write them.
var (
	yes     = vote{code: codeOK}
	down    = vote{err: fmt.Errorf("%w: connection refused", nodes.ErrDown), unsent: true}
	silent  = vote{err: errors.New("i/o timeout")}
	foreign = vote{err: &nodes.RefusedError{Reason: "it holds another list"}}
	blank   = vote{err: nodes.ErrBlank}
	done    = vote{code: codeDone, owner: "w", holder: "b", tick: time.UnixMilli(1_000_000), token: 7}
	later   = vote{code: codeLater, owner: "w", holder: "b", tick: time.UnixMilli(2_000_000), token: 9}
	abstain = vote{code: codeAbstain, floor: time.UnixMilli(1_500_000)}
	future  = vote{code: codeFuture}
	stale   = vote{code: codeStale, fence: 12}
	// Locks of competitors that got no further.
	busyX = vote{code: codeBusy, owner: "x", left: time.Second}
	busyY = vote{code: codeBusy, owner: "y", left: time.Second}
	// A lock with its claim of another tick, and claims of the very tick.
	runs     = vote{code: codeBusy, owner: "w", holder: "b", tick: time.UnixMilli(900_000), token: 5, left: time.Second}
	claimedW = vote{code: codeClaimed, owner: "w", holder: "b", tick: time.UnixMilli(1_000_000), token: 7, left: time.Second}
	claimedZ = vote{code: codeClaimed, owner: "z", holder: "c", tick: time.UnixMilli(1_000_000), token: 6}
	lostX    = vote{code: codeLost, owner: "x", left: time.Second}
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
		{"a competitor has won round one", []vote{busyX, busyX, busyX, yes, yes}, locking.ErrTaken},
		{"two competitors", []vote{busyX, busyX, busyY, yes, yes}, locking.ErrSplit},
		{"one competitor, one node down", []vote{busyX, busyX, down, yes, yes}, locking.ErrSplit},
		{"locks ran out in round two", []vote{lostX, lostX, busyY, yes, yes}, locking.ErrSplit},
		{"overtaken in round two", []vote{lostX, lostX, lostX, yes, yes}, locking.ErrTaken},
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
			a := ballotOf(t, slices.Clone(tt.votes)...)
			if got := a.refusal(false); !errors.Is(got, tt.want) {
				t.Errorf("refusal = %v, want %v", got, tt.want)
			}
		})
	}
}

// Plain locks have no tick that could be lost for good.
func TestPlainLockIsNeverUnvouched(t *testing.T) {
	t.Parallel()
	a := ballotOf(t, abstain, abstain, abstain, yes, yes)
	a.stream = streamPlain
	if got := a.refusal(false); !errors.Is(got, locking.ErrNoQuorum) {
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
		got := ballotOf(t, votes...).refusal(false)
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
	e := ballotOf(t, old, held, yes, held, down).refusal(false)
	if e.Holder != "b" || e.HolderToken != 8 || !e.HolderTick.Equal(held.tick) || !e.Until.Equal(now.Add(3*time.Second)) {
		t.Errorf("refusal names %s, token %d, tick %v, until %v", e.Holder, e.HolderToken, e.HolderTick, e.Until)
	}
	for _, want := range []string{"job: lock is held by b", "1 of 5 votes", "n1: the tick is claimed by c with token 6", "n5: node is down: connection refused"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q lacks %q", e.Error(), want)
		}
	}
	if strings.Contains(e.Error(), "\n") {
		t.Errorf("%q has more than one line", e.Error())
	}
}

func TestCountedFrom(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	votes := []vote{
		{code: codeOK, sent: at(3)},
		{code: codeBusy, sent: at(9)},
		{code: codeOK, sent: at(5)},
		{code: codeOK, sent: at(1)},
		{code: codeOK, sent: at(4)},
	}
	if got := countedFrom(votes, 3); !got.Equal(at(3)) {
		t.Errorf("countedFrom = %v, want the earliest of the three latest acceptances, %v", got, at(3))
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply nodes.Reply
		want  func(vote) bool
	}{
		{"acceptance", nodes.Reply{Code: "OK", Args: []string{"9007199254740991", "3"}}, func(v vote) bool {
			return v.ok() && v.fence == 1<<53-1 && v.attempt == 3
		}},
		{"bare acceptance", nodes.Reply{Code: "OK"}, vote.ok},
		{"lock without a claim", nodes.Reply{Code: "BUSY", Args: []string{"x", "1500", "", "", ""}}, func(v vote) bool {
			return v.owner == "x" && v.left == 1500*time.Millisecond && v.tick.IsZero() && v.token == 0
		}},
		{"claim", nodes.Reply{Code: "CLAIMED", Args: []string{"x", "0", "b", "1700000000123", "7"}}, func(v vote) bool {
			return v.holder == "b" && v.token == 7 && v.tick.UnixMilli() == 1700000000123 && v.until().IsZero()
		}},
		{"abstention", nodes.Reply{Code: "ABSTAIN", Args: []string{"1700000000123"}}, func(v vote) bool {
			return v.floor.UnixMilli() == 1700000000123
		}},
		{"unknown code", nodes.Reply{Code: "MAYBE"}, unreadable},
		{"too short", nodes.Reply{Code: "BUSY", Args: []string{"x", "1500"}}, unreadable},
		{"not a number", nodes.Reply{Code: "OK", Args: []string{"9e15", "1"}}, unreadable},
		{"failure", nodes.Reply{Err: errors.New("i/o timeout")}, func(v vote) bool { return unreadable(v) && v.open() }},
		{"not asked", nodes.Reply{Err: nodes.ErrDown}, func(v vote) bool { return unreadable(v) && !v.open() }},
		{"server's error", nodes.Reply{Err: &nodes.ServerError{Code: "OOM"}}, func(v vote) bool { return unreadable(v) && !v.open() }},
		{"refusal", nodes.Reply{Err: &nodes.RefusedError{}}, func(v vote) bool { return unreadable(v) && !v.open() }},
		{"blank", nodes.Reply{Err: nodes.ErrBlank}, func(v vote) bool { return unreadable(v) && !v.open() }},
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
