package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// refusal says why the votes of the last round were not enough. Slow says that the
// try's time was used up.
func (t *try) refusal(votes []vote, slow bool) *locking.AcquireError {
	e := &locking.AcquireError{
		Reason: t.reason(votes, slow), Name: t.req.Name,
	}
	if !t.l.set.OneStore() {
		e.Votes = locking.Votes{For: count(votes, codeOK), Of: len(t.nodes)}
	}
	switch {
	case errors.Is(e.Reason, locking.ErrNoQuorum), errors.Is(e.Reason, locking.ErrRefused):
	case errors.Is(e.Reason, locking.ErrDone):
		nameHolder(e, withCode(votes, codeDone)) // a later claim's holder is irrelevant
	case errors.Is(e.Reason, locking.ErrTaken): // the holder of a later tick does not hold this lock
		nameHolder(e, slices.DeleteFunc(slices.Clone(votes), func(v vote) bool { return !v.blocks() }))
	default:
		nameHolder(e, votes)
	}
	for i, v := range votes {
		err := v.objection()
		if t.isAhead(i, v) {
			err = t.aheadError(v)
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
	quorum, blocking := t.l.set.Quorum(), t.blocking()
	switch later, abstained := count(votes, codeLater), count(votes, codeAbstain); {
	case count(votes, codeDone) > 0:
		return locking.ErrDone
	case later >= blocking:
		return locking.ErrSuperseded
	case later+abstained >= blocking && t.req.Tick.IsZero():
		return t.l.set.Silence() // the nodes may grant a plain lock once they vouch again
	case later+abstained >= blocking:
		return locking.ErrUnvouched
	case agreed(votes, codeClaimed, quorum):
		return locking.ErrClaimed
	}
	switch failed, refused := failures(votes); {
	case refused >= blocking:
		return locking.ErrRefused
	case t.missesAhead(votes):
		return locking.ErrNodeAhead
	case count(votes, codeFuture) >= blocking:
		return locking.ErrFuture
	case failed >= blocking:
		return t.l.set.Silence()
	case slow || count(votes, codeOK) >= quorum:
		return locking.ErrTooSlow
	case held(votes, quorum) && unclaimed(votes):
		return locking.ErrUnclaimed
	case held(votes, quorum):
		return locking.ErrTaken
	case count(votes, codeBusy, codeStale) > 0:
		return locking.ErrSplit
	}
	return t.l.set.Silence()
}

// silence is why too few nodes have accepted a lease's request: ErrRefused if the others
// refuse it, ErrNoQuorum if they have not answered.
func (t *try) silence(votes []vote) error {
	if _, refused := failures(votes); refused >= t.blocking() {
		return locking.ErrRefused
	}
	return t.l.set.Silence()
}

// agreed reports whether a quorum of votes have this code and name the same owner and
// token.
func agreed(votes []vote, code string, quorum int) bool {
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
	return agreed(votes, codeBusy, quorum)
}

// unclaimed reports whether no vote names a claim, or runs that may overlap: these have no
// owner here. Only the first round of a try leaves such locks.
func unclaimed(votes []vote) bool {
	return !slices.ContainsFunc(votes, func(v vote) bool { return v.blocks() && (v.token > 0 || v.owner == "") })
}

// blocks reports whether the vote names another's lock or claim.
func (v vote) blocks() bool {
	switch v.code {
	case codeBusy, codeClaimed, codeUnended, codeLost:
		return true
	}
	return false
}

// nameHolder fills in the holder that the nodes named: the one with the largest token,
// since smaller ones are older.
func nameHolder(e *locking.AcquireError, votes []vote) {
	for _, v := range votes {
		if v.token > e.HolderToken {
			e.Holder, e.HolderTick, e.HolderToken = v.holder, v.tick, v.token
		}
		if end := v.until(); v.blocks() && end.After(e.Until) {
			e.Until = end
		}
	}
}

// withCode returns the votes with the code.
func withCode(votes []vote, code string) []vote {
	return slices.DeleteFunc(slices.Clone(votes), func(v vote) bool { return v.code != code })
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
	case codeBusy, codeLost:
		return "the lock is held" + v.byWhom()
	case codeUnended:
		return "the lock has expired, but its claim has not ended" + v.byWhom()
	case codeClaimed:
		return "the tick is claimed" + v.byWhom()
	case codeDone:
		return "the tick was finished" + v.byWhom()
	case codeLater:
		if v.tick.IsZero() {
			return "a job was forgotten here, and ticks up to then stay closed"
		}
		return fmt.Sprintf("the later tick %s was claimed%s", v.tick.Format(time.RFC3339Nano), v.byWhom())
	case codeLate:
		return "it holds another claim" + v.byWhom()
	case codeAbstain:
		return "it may have lost its memory and votes only on ticks after " + v.floor.Format(time.RFC3339Nano)
	case codeFuture:
		return "the tick or the token lies too far ahead of its clock"
	case codeStale:
		return fmt.Sprintf("it has accepted token %d, attempt %d", v.fence, v.attempt)
	case codeRanOut:
		return "the lock had expired"
	case codeDead:
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
	case codeOK:
		return locking.Granted
	case codeBusy, codeClaimed, codeUnended, codeLost:
		return locking.Held
	case codeAbstain:
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
