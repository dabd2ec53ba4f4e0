package redlock

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// The answers of a node to a rule. The Lua files say when a node gives which.
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
	codeUnended = "UNENDED"
)

// A vote is one node's answer to one request of a try.
type vote struct {
	node string
	code string // empty if err is set
	err  error  // why there is no vote
	// unsent: the request never left this process, so it cannot have an effect.
	unsent   bool
	received time.Time
	clock    time.Time // the node's, when it answered

	fence   uint64 // OK, STALE: the largest token that the node has accepted
	attempt int    // OK, STALE: the number of claims of the tick
	floor   time.Time

	owner  string // the other holder's value
	holder string
	left   time.Duration // of the lock
	tick   time.Time     // the owner's tick; zero if it only has the lock
	token  locking.Token

	reason string // DEAD: an operator's reason for releasing the lock
}

// ok reports whether the node accepted.
func (v vote) ok() bool { return v.code == codeOK }

// unheard reports whether the node had not answered when the round was over.
func (v vote) unheard() bool { return v.code == "" && v.err == nil }

// uncertain reports whether the request may have had, or may still have, an unknown
// effect.
func (v vote) uncertain() bool {
	if v.err == nil || v.unsent {
		return false
	}
	_, refused := errors.AsType[*membership.RefusedError](v.err)
	_, answered := errors.AsType[*client.ServerError](v.err)
	return !refused && !answered && !errors.Is(v.err, membership.ErrBlank)
}

// partial reports whether the script may have changed something before it failed: the server
// checks rights and types at each command, and undoes nothing.
func (v vote) partial() bool {
	answer, ok := errors.AsType[*client.ServerError](v.err)
	return ok && (answer.Code == "NOPERM" || answer.Code == "WRONGTYPE" || answer.Code == "ERR")
}

// until is when the blocking lock ends by the local clock, no earlier than by the
// node's.
func (v vote) until() time.Time {
	if v.left <= 0 {
		return time.Time{}
	}
	return v.received.Add(v.left)
}

// parse reads a reply. An unreadable reply is no vote.
func parse(r membership.Reply) vote {
	v := vote{node: r.Node, code: r.Code, err: r.Err, unsent: r.Unsent(), received: r.Received, clock: r.NodeTime}
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
	case codeBusy, codeClaimed, codeDone, codeLater, codeUnended, codeLost, codeLate:
		v.owner = p.text()
		v.left = time.Duration(p.uint()) * time.Millisecond
		v.holder = p.unescaped()
		v.tick = p.instant()
		v.token = locking.Token(p.uint())
	case codeAbstain:
		v.floor = p.instant()
	case codeDead:
		if len(r.Args) > 0 {
			v.reason = p.text()
		}
	case codeFuture, codeRanOut:
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

// unescaped reads text that was escaped to contain no blanks.
func (p *parser) unescaped() string {
	s, err := url.QueryUnescape(p.text())
	if err != nil && p.err == nil {
		p.err = err
	}
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
	for i := range votes { // votes are large
		if code := votes[i].code; code != "" && slices.Contains(codes, code) {
			n++
		}
	}
	return n
}
