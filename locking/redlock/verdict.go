package redlock

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A vote is one node's answer to one request of a try.
type vote struct {
	node string
	code protocol.Code // empty if err is set
	err  error         // why there is no vote
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
func (v vote) ok() bool { return v.code == protocol.OK }

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
	v := vote{node: r.Node, code: protocol.Code(r.Code), err: r.Err, unsent: r.Unsent(), received: r.Received, clock: r.NodeTime}
	if v.err != nil {
		v.code = ""
		return v
	}
	p := parser{args: r.Args}
	switch v.code {
	case protocol.OK, protocol.Stale:
		if len(r.Args) > 0 {
			v.fence, v.attempt = p.uint(), int(p.uint())
		}
	case protocol.Busy, protocol.Claimed, protocol.Done, protocol.Later, protocol.Unended, protocol.Lost, protocol.Late:
		v.owner = p.text()
		v.left = time.Duration(p.uint()) * time.Millisecond
		v.holder = p.unescaped()
		v.tick = p.instant()
		v.token = locking.Token(p.uint())
	case protocol.Abstain:
		v.floor = p.instant()
	case protocol.Dead:
		if len(r.Args) > 0 {
			v.reason = p.text()
		}
	case protocol.Future, protocol.RanOut:
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
func count(votes []vote, codes ...protocol.Code) int {
	n := 0
	for i := range votes { // votes are large
		if code := votes[i].code; code != "" && slices.Contains(codes, code) {
			n++
		}
	}
	return n
}

// refusal says why the votes of the last round were not enough. Slow says that the
// try's time was used up.
func (t *try) refusal(votes []vote, slow bool) *locking.AcquireError {
	e := &locking.AcquireError{
		Reason: t.reason(votes, slow), Name: t.req.Name,
	}
	if !t.l.set.OneStore() {
		e.Votes = locking.Votes{For: count(votes, protocol.OK), Of: len(t.nodes)}
	}
	switch {
	case errors.Is(e.Reason, locking.ErrNoQuorum), errors.Is(e.Reason, locking.ErrRefused):
	case errors.Is(e.Reason, locking.ErrDone):
		nameHolder(e, votes, func(v vote) bool { return v.code == protocol.Done }) // a later claim's holder is irrelevant
	case errors.Is(e.Reason, locking.ErrTaken): // the holder of a later tick does not hold this lock
		nameHolder(e, votes, vote.blocks)
	default:
		nameHolder(e, votes, func(vote) bool { return true })
	}
	for i, v := range votes {
		err := v.objection()
		if t.isAhead(i, v) {
			err = v.aheadError(t.maxAcceptableToken, t.l.set.Len() == 1)
		}
		if err != nil {
			e.Nodes = append(e.Nodes, locking.NodeError{Node: v.node, Err: err})
		}
	}
	return e
}

// reason follows rule C5. First it checks what can never change, then what prevented a
// quorum, then other holders.
func (t *try) reason(votes []vote, slow bool) error {
	quorum, blocking := t.l.set.Quorum(), t.l.blocking()
	switch later, abstained := count(votes, protocol.Later), count(votes, protocol.Abstain); {
	case count(votes, protocol.Done) > 0:
		return locking.ErrDone
	case later >= blocking:
		return locking.ErrSuperseded
	case later+abstained >= blocking && t.req.Tick.IsZero():
		return t.l.set.NoQuorumError() // the nodes may grant a plain lock once they vouch again
	case later+abstained >= blocking:
		return locking.ErrUnvouched
	case agreed(votes, protocol.Claimed, quorum):
		return locking.ErrClaimed
	}
	switch failed, refused := failures(votes); {
	case refused >= blocking:
		return locking.ErrRefused
	case t.missesAhead(votes):
		return locking.ErrNodeAhead
	case count(votes, protocol.Future) >= blocking:
		return locking.ErrFuture
	case failed >= blocking:
		return t.l.set.NoQuorumError()
	case slow || count(votes, protocol.OK) >= quorum:
		return locking.ErrTooSlow
	case held(votes, quorum) && unclaimed(votes):
		return locking.ErrUnclaimed
	case held(votes, quorum):
		return locking.ErrTaken
	case count(votes, protocol.Busy, protocol.Stale) > 0:
		return locking.ErrSplit
	}
	return t.l.set.NoQuorumError()
}

// silence is why too few nodes have accepted a lease's request: ErrRefused if the others
// refuse it, ErrNoQuorum if they have not answered.
func (l *Locker) silence(votes []vote) error {
	if _, refused := failures(votes); refused >= l.blocking() {
		return locking.ErrRefused
	}
	return l.set.NoQuorumError()
}

// blocking is how many nodes suffice to prevent a quorum.
func (l *Locker) blocking() int { return l.set.Len() - l.set.Quorum() + 1 }

// agreed reports whether a quorum of votes have this code and name the same owner and
// token.
func agreed(votes []vote, code protocol.Code, quorum int) bool {
	for _, v := range votes {
		n := 0
		for _, w := range votes {
			if w.code == code && w.owner == v.owner && w.token == v.token {
				n++
			}
		}
		if n >= quorum {
			return true
		}
	}
	return false
}

// failures counts the nodes that gave no vote, and those among them that refuse it.
func failures(votes []vote) (failed, refused int) {
	for _, v := range votes {
		if v.err != nil {
			failed++
		}
		if membership.Refuses(v.err) {
			refused++
		}
	}
	return failed, refused
}

// held reports whether another holder has the lock: a claim on a node, or the locks of a
// quorum. Otherwise competitors have split the votes.
func held(votes []vote, quorum int) bool {
	for _, v := range votes {
		if v.blocks() && v.token > 0 {
			return true
		}
	}
	return agreed(votes, protocol.Busy, quorum)
}

// unclaimed reports whether no vote names a claim, or runs that may overlap: these have no
// owner here. Only the first round of a try leaves such locks.
func unclaimed(votes []vote) bool {
	return !slices.ContainsFunc(votes, func(v vote) bool { return v.blocks() && (v.token > 0 || v.owner == "") })
}

// blocks reports whether the vote names another's lock or claim.
func (v vote) blocks() bool {
	switch v.code {
	case protocol.Busy, protocol.Claimed, protocol.Unended, protocol.Lost:
		return true
	}
	return false
}

// nameHolder fills in the holder that these of the votes name: the one with the largest
// token, since smaller ones are older.
func nameHolder(e *locking.AcquireError, votes []vote, these func(vote) bool) {
	for _, v := range votes {
		if !these(v) {
			continue
		}
		if v.token > e.HolderToken {
			e.Holder, e.HolderTick, e.HolderToken = v.holder, v.tick, v.token
		}
		if end := v.until(); v.blocks() && end.After(e.Until) {
			e.Until = end
		}
	}
}

// objection is the node's failure or refusal; nil if it accepted or did not answer
// before the round was over.
func (v vote) objection() error {
	if v.err != nil {
		return v.err
	}
	if text := v.text(); text != "" {
		return errors.New(text)
	}
	return nil
}

func (v vote) text() string {
	switch v.code {
	case protocol.Busy, protocol.Lost:
		return "the lock is held" + v.byWhom()
	case protocol.Unended:
		return "the lock has expired, but its claim has not ended" + v.byWhom()
	case protocol.Claimed:
		return "the tick is claimed" + v.byWhom()
	case protocol.Done:
		return "the tick was finished" + v.byWhom()
	case protocol.Later:
		if v.tick.IsZero() {
			return "a job was forgotten here, and ticks up to then stay closed"
		}
		return fmt.Sprintf("the later tick %s was claimed%s", v.tick.Format(time.RFC3339Nano), v.byWhom())
	case protocol.Late:
		return "it holds another claim" + v.byWhom()
	case protocol.Abstain:
		return "it may have lost its memory and votes only on ticks after " + v.floor.Format(time.RFC3339Nano)
	case protocol.Future:
		return "the tick or the token lies too far ahead of its clock"
	case protocol.Stale:
		return fmt.Sprintf("it has accepted token %d, attempt %d", v.fence, v.attempt)
	case protocol.RanOut:
		return "the lock had expired"
	case protocol.Dead:
		if v.reason != "" {
			return "released by an operator: " + v.reason
		}
		return "this try was given up"
	}
	return ""
}

func (v vote) byWhom() string {
	switch {
	case v.holder == "" && v.token == 0:
		return ""
	case v.holder == "":
		return fmt.Sprintf(" with token %d", v.token)
	}
	return fmt.Sprintf(" by %s with token %d", v.holder, v.token)
}

// maxErrors bounds the quotes in a poll, in bytes, since ledgers store them.
const maxErrors = 1 << 10

// poll returns each node's answer when the round was over.
func (l *Locker) poll(votes []vote, rounds uint8) locking.Poll {
	p := locking.Poll{Rounds: rounds, List: l.list, Names: l.names}
	for i, v := range votes {
		p.Answers[i] = v.answer()
		if err := v.objection(); err != nil && len(p.Errors) < maxErrors {
			p.Errors = quote(p.Errors, l.names[i], err)
		}
	}
	return p
}

// answer is the vote as a letter.
func (v vote) answer() locking.Answer {
	switch v.code {
	case protocol.OK:
		return locking.Granted
	case protocol.Busy, protocol.Claimed, protocol.Unended, protocol.Lost:
		return locking.Held
	case protocol.Abstain:
		return locking.Abstained
	}
	switch {
	case v.unheard():
		return locking.NotAwaited
	case v.err != nil && !membership.Refuses(v.err):
		return locking.Unreachable
	}
	return locking.Refused
}

// quote appends a node's error to the quotes of others.
func quote(said, node string, err error) string {
	text := strings.Join(strings.Fields(locking.NodeError{Node: node, Err: err}.Error()), " ")
	if said != "" {
		text = said + "; " + text
	}
	if len(text) > maxErrors {
		return strings.ToValidUTF8(text[:maxErrors], "") + " …"
	}
	return text
}
