package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// What a node can say to a rule; the Lua files tell when it says which.
const (
	codeOK      = "OK"
	codeBusy    = "BUSY"
	codeClaimed = "CLAIMED"
	codeDone    = "DONE"
	codeLater   = "LATER"
	codeAbstain = "ABSTAIN"
	codeFuture  = "FUTURE"
	codeStale   = "STALE"
	codeLost    = "LOST"
	codeLate    = "LATE"
	codeRanOut  = "RANOUT"
	codeDead    = "DEAD"
	codeRenewed = "RENEWED"
	codeSet     = "SET"
)

// A vote is one node's answer to one request of an attempt.
type vote struct {
	node string
	code string // empty if err is set
	err  error  // why there is no vote
	// unsent: the request never left this process, so it can have no effect.
	unsent         bool
	sent, received time.Time
	clock          time.Time // the node's, when it answered

	fence   uint64 // OK, STALE: the largest token the node has accepted
	attempt int    // OK, STALE: the claims of the tick so far
	floor   time.Time

	owner  string // the v of whoever is in the way
	holder string
	left   time.Duration // of the lock
	tick   time.Time     // what the owner claimed; zero if it got no further than the lock
	token  locking.Token

	reason string // DEAD: an operator's, for releasing the lock
}

// ok tells whether the node accepted: what EXTEND has renewed or set again, too.
func (v vote) ok() bool { return v.code == codeOK || v.code == codeRenewed || v.code == codeSet }

// closed tells whether the node has closed the claim as done.
func (v vote) closed() bool { return v.ok() || v.code == codeRanOut }

// open tells whether the request may have had, or may yet have, an effect that
// nobody has told us of.
func (v vote) open() bool {
	if v.err == nil || v.unsent {
		return false
	}
	_, refused := errors.AsType[*nodes.RefusedError](v.err)
	_, answered := errors.AsType[*nodes.ServerError](v.err)
	return !refused && !answered && !errors.Is(v.err, nodes.ErrBlank)
}

// until is when the lock in the way ends, by the local clock: no earlier than
// the node's own idea of it.
func (v vote) until() time.Time {
	if v.left <= 0 {
		return time.Time{}
	}
	return v.received.Add(v.left)
}

// parse reads a reply. One that makes no sense is no vote.
func parse(r nodes.Reply) vote {
	v := vote{node: r.Node, code: r.Code, err: r.Err, unsent: r.Unsent(), sent: r.Sent, received: r.Received, clock: r.NodeTime}
	if v.err != nil {
		v.code = ""
		return v
	}
	p := parser{args: r.Args}
	switch r.Code {
	case codeOK, codeStale:
		if len(r.Args) > 0 {
			v.fence, v.attempt = p.uint(), int(p.uint())
		}
	case codeBusy, codeClaimed, codeDone, codeLater, codeLost, codeLate:
		v.owner = p.text()
		v.left = time.Duration(p.uint()) * time.Millisecond
		v.holder = p.text()
		v.tick = p.instant()
		v.token = locking.Token(p.uint())
	case codeAbstain:
		v.floor = p.instant()
	case codeDead:
		if len(r.Args) > 0 {
			v.reason = p.text()
		}
	case codeFuture, codeRanOut, codeRenewed, codeSet:
	default:
		p.err = fmt.Errorf("unknown answer %q", r.Code)
	}
	if p.err != nil {
		v.code, v.err = "", fmt.Errorf("reading the node's answer %s %q: %w", r.Code, r.Args, p.err)
	}
	return v
}

// A parser takes arguments from the front and keeps the first error.
type parser struct {
	args []string
	err  error
}

func (p *parser) text() string {
	if len(p.args) == 0 {
		if p.err == nil {
			p.err = errors.New("it is too short")
		}
		return ""
	}
	s := p.args[0]
	p.args = p.args[1:]
	return s
}

func (p *parser) uint() uint64 {
	s := p.text()
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && p.err == nil {
		p.err = err
	}
	return n
}

func (p *parser) instant() time.Time {
	ms := p.uint()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// count returns how many votes have one of the codes.
func count(votes []vote, codes ...string) int {
	n := 0
	for _, v := range votes {
		if v.code != "" && slices.Contains(codes, v.code) {
			n++
		}
	}
	return n
}

// accepted returns how many votes are acceptances.
func accepted(votes []vote) int {
	n := 0
	for _, v := range votes {
		if v.ok() {
			n++
		}
	}
	return n
}

// countedFrom returns from when a quorum's word counts: when the earliest of
// the q latest accepted requests was sent. The votes must hold q acceptances.
func countedFrom(votes []vote, q int) time.Time {
	var sent []time.Time
	for _, v := range votes {
		if v.ok() {
			sent = append(sent, v.sent)
		}
	}
	slices.SortFunc(sent, func(a, b time.Time) int { return b.Compare(a) })
	return sent[q-1]
}
