package redlock

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A claim has each node's answer until a quorum had granted it; so does the last extension.
func TestPollOfAClaim(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		p.set(func(f *faults) { f.late["commit n3"], f.late["commit n4"] = time.Millisecond, time.Millisecond })
		lease := mustAcquire(t, l, direct(c.request(past(0))))
		defer mustRelease(t, lease)
		poll := lease.Claim().Poll
		if got := poll.Letters(); got != "+++.." || poll.Rounds != 1 || poll.Errors != "" {
			t.Errorf("a claim in one round: %s in %d rounds, %q", got, poll.Rounds, poll.Errors)
		}
		if list, names := l.set.List(); poll.List != list || *poll.Names != *names || poll.Name(4) != "n4" {
			t.Errorf("names %v, list %d", poll.Names, poll.List)
		}
		if last := lease.(locking.Polled).LastPoll(); last.Nodes() != 0 {
			t.Errorf("before the first extension: %+v", last)
		}

		time.Sleep(time.Second)
		p.stop(1, 2)
		p.set(func(f *faults) { f.late["extend n4"] = time.Millisecond }) // the ones that are down are known before
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		last := lease.(locking.Polled).LastPoll()
		if got := last.Letters(); got != "+uu++" || !strings.Contains(last.Errors, "n1: ") {
			t.Errorf("the extension: %s, %q", got, last.Errors)
		}

		other := c.request(past(0))
		other.Name = "other"
		whole := mustAcquire(t, l, other)
		defer mustRelease(t, whole)
		if poll := whole.Claim().Poll; poll.Letters() != "+uu++" || poll.Rounds != 2 {
			t.Errorf("a claim in two rounds: %s in %d", poll.Letters(), poll.Rounds)
		}
	})
}

// Every code of a vote has its answer.
func TestAnswersOfVotes(t *testing.T) {
	t.Parallel()
	for want, votes := range map[locking.Answer][]vote{
		locking.Granted:     {{code: protocol.OK}},
		locking.Held:        {{code: protocol.Busy}, {code: protocol.Claimed}, {code: protocol.Unended}, {code: protocol.Lost}},
		locking.Abstained:   {{code: protocol.Abstain}},
		locking.Refused:     {{code: protocol.Stale}, {code: protocol.Later}, {code: protocol.Done}, {code: protocol.Future}, {code: protocol.Dead}, {err: &membership.RefusedError{}}},
		locking.Unreachable: {{err: errors.New("timeout")}},
		locking.NotAwaited:  {{}},
	} {
		for _, v := range votes {
			if got := v.answer(); got != want {
				t.Errorf("%q, %v: %v, want %v", v.code, v.err, got, want)
			}
		}
	}
}

// Quotes of nodes are bounded, on one line.
func TestQuote(t *testing.T) {
	t.Parallel()
	said := ""
	for range 5 {
		said = quote(said, "n1", errors.New("a\nb "+strings.Repeat("é", 300)))
	}
	if len(said) > maxErrors+8 || strings.Contains(said, "\n") || !strings.HasPrefix(said, "n1: a b é") || strings.ContainsRune(said, '�') {
		t.Errorf("%d bytes: %q", len(said), said)
	}
}
