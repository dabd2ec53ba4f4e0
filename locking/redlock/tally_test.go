package redlock

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// sorted are the letters without their order, which depends on the name in a claim
// of one round.
func sorted(p locking.Poll) string {
	b := []byte(p.Letters())
	slices.Sort(b)
	return string(b)
}

// A claim says what each node answered, also those that it did not ask; so does the
// last extension.
func TestPollOfAClaim(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 5)
	c := newCluster(t, minis.URLs(), func(cfg *nodes.Config) {
		cfg.Dial, cfg.Embedded = minis.Dial, true
		// A busy machine must not turn a node that answers into one that does not.
		cfg.Timeout, cfg.TTL, cfg.Grace = 2*time.Minute, 10*time.Minute, 11*time.Minute
	})
	l := c.locker(t)
	thrifty := mustAcquire(t, l, direct(c.request(past(0))))
	defer mustRelease(t, thrifty)
	p := thrifty.Claim().Poll
	if got := sorted(p); got != "+++.." || p.Rounds != 1 || p.Said != "" {
		t.Errorf("a claim in one round: %s in %d rounds, %q", got, p.Rounds, p.Said)
	}
	if list, names := locking.NodeList(l.set.Names()); p.List != list || *p.Names != *names || p.Name(4) != l.set.Names()[4] {
		t.Errorf("names %v, list %d", p.Names, p.List)
	}
	if last := thrifty.(locking.Polled).LastPoll(); last.Nodes() != 0 {
		t.Errorf("before the first extension: %+v", last)
	}

	minis.Stop(1)
	if err := thrifty.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := thrifty.(locking.Polled).LastPoll()
	if got := last.Letters(); got != "+u+++" || !strings.Contains(last.Said, last.Name(1)+": ") {
		t.Errorf("the extension: %s, %q", got, last.Said)
	}

	other := c.request(past(0))
	other.Name = "other"
	whole := mustAcquire(t, l, other)
	defer mustRelease(t, whole)
	if p := whole.Claim().Poll; p.Letters() != "+u+++" || p.Rounds != 2 {
		t.Errorf("a claim in two rounds: %s in %d", p.Letters(), p.Rounds)
	}
	other.Name = "third"
	spared := mustAcquire(t, l, direct(other))
	defer mustRelease(t, spared)
	if p := spared.Claim().Poll; sorted(p) != "+++.u" || p.Letters()[1] != 'u' {
		t.Errorf("a claim in one round that knows of the node: %s", p.Letters())
	}
}

// Every code of a vote has its answer.
func TestAnswersOfVotes(t *testing.T) {
	t.Parallel()
	c := newMiniCluster(t, redistest.MiniN(t, 1))
	set := c.open(t)
	if err := set.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, votes := range map[locking.Answer][]vote{
		locking.Granted:     {{code: codeOK}},
		locking.Held:        {{code: codeBusy}, {code: codeClaimed}, {code: codeLost}},
		locking.Abstained:   {{code: codeAbstain}},
		locking.Refused:     {{code: codeStale}, {code: codeLater}, {code: codeDone}, {code: codeFuture}, {code: codeDead}, {err: &nodes.RefusedError{}}},
		locking.Unreachable: {{err: errors.New("timeout")}},
		locking.NotAsked:    {{}},
	} {
		for _, v := range votes {
			if got := v.answer(set.Nodes()[0]); got != want {
				t.Errorf("%q, %v: %v, want %v", v.code, v.err, got, want)
			}
		}
	}
}

// What nodes say is bounded, on one line.
func TestQuote(t *testing.T) {
	t.Parallel()
	said := ""
	for range 5 {
		said = quote(said, "n1", errors.New("a\nb "+strings.Repeat("é", 300)))
	}
	if len(said) > longestSaid+8 || strings.Contains(said, "\n") || !strings.HasPrefix(said, "n1: a b é") || strings.ContainsRune(said, '�') {
		t.Errorf("%d bytes: %q", len(said), said)
	}
}
