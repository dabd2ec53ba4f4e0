package redlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
)

// refusal says why the votes did not suffice. They are those of the last round;
// slow says that the attempt's time was used up.
func (a *attempt) refusal(slow bool) *locking.AcquireError {
	e := &locking.AcquireError{
		Reason: a.reason(slow), Name: a.req.Name,
		Votes: locking.Votes{For: count(a.votes, codeOK), Of: len(a.votes)},
	}
	if !errors.Is(e.Reason, locking.ErrNoQuorum) && !errors.Is(e.Reason, locking.ErrRefused) {
		nameHolder(e, a.votes)
	}
	for i, v := range a.votes {
		err := v.objection()
		if a.isAhead(i) {
			err = a.aheadError(i)
		}
		if err != nil {
			e.Nodes = append(e.Nodes, locking.NodeError{Node: v.node, Err: err})
		}
	}
	return e
}

// reason concludes no more than rule C5 allows. First what can never change any
// more, then what made a quorum impossible, then who was in the way.
func (a *attempt) reason(slow bool) error {
	blocking := a.blocking()
	switch later, abstained := count(a.votes, codeLater), count(a.votes, codeAbstain); {
	case count(a.votes, codeDone) > 0:
		return locking.ErrDone
	case later >= blocking:
		return locking.ErrSuperseded
	case later+abstained >= blocking && a.stream == streamPlain:
		return locking.ErrNoQuorum // a plain lock may be had once they vouch again
	case later+abstained >= blocking:
		return locking.ErrUnvouched
	case a.agreed(codeClaimed):
		return locking.ErrClaimed
	}
	switch failed, refused := a.failures(); {
	case refused >= blocking:
		return locking.ErrRefused
	case a.missesAhead():
		return locking.ErrNodeAhead
	case count(a.votes, codeFuture) >= blocking:
		return locking.ErrFuture
	case failed >= blocking:
		return locking.ErrNoQuorum
	case slow || count(a.votes, codeOK) >= a.set.Quorum():
		return locking.ErrTooSlow
	case a.held():
		return locking.ErrTaken
	case count(a.votes, codeBusy, codeLost, codeStale) > 0:
		return locking.ErrSplit
	}
	return locking.ErrNoQuorum
}

// agreed tells whether a quorum answers code and names the same owner and token.
func (a *attempt) agreed(code string) bool { return agreed(a.votes, code, a.set.Quorum()) }

// agreed tells the same of the votes of different nodes.
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

// failures counts the nodes that gave no vote, and those among them that refuse
// this client.
func (a *attempt) failures() (failed, refused int) {
	for _, v := range a.votes {
		if v.err != nil {
			failed++
		}
		if errors.Is(v.err, locking.ErrRefused) {
			refused++
		}
	}
	return failed, refused
}

// held tells whether somebody has more than a share of the votes: a claim on a
// node, or the locks of a quorum. Otherwise competitors divided them.
func (a *attempt) held() bool {
	for _, v := range a.votes {
		if v.inTheWay() && v.token > 0 {
			return true
		}
	}
	return a.agreed(codeBusy) || a.agreed(codeLost)
}

// inTheWay tells whether the vote names somebody else's lock or claim.
func (v vote) inTheWay() bool {
	switch v.code {
	case codeBusy, codeClaimed, codeLost:
		return true
	}
	return false
}

// nameHolder fills in whom the nodes named: of several, the one with the
// largest token, as the others are of the past.
func nameHolder(e *locking.AcquireError, votes []vote) {
	for _, v := range votes {
		if v.token > e.HolderToken {
			e.Holder, e.HolderTick, e.HolderToken = v.holder, v.tick, v.token
		}
		if end := v.until(); v.inTheWay() && end.After(e.Until) {
			e.Until = end
		}
	}
}

// objection is what the node would not, in words, or that it had to set the lock
// again; nil if it simply accepted or was not asked.
func (v vote) objection() error {
	if v.err != nil {
		return v.err
	}
	if text := v.words(); text != "" {
		return errors.New(text)
	}
	return nil
}

func (v vote) words() string {
	switch v.code {
	case codeBusy, codeLost:
		return "the lock is held" + v.byWhom()
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
		return "it may have lost its memory and vouches only for what comes after " + v.floor.Format(time.RFC3339Nano)
	case codeFuture:
		return "the tick or the token lies too far ahead of its clock"
	case codeStale:
		return fmt.Sprintf("it has accepted token %d, attempt %d", v.fence, v.attempt)
	case codeRanOut:
		return "the lock had run out"
	case codeSet:
		return "the lock had gone, and was set again"
	case codeDead:
		if v.reason != "" {
			return "released by an operator: " + v.reason
		}
		return "this attempt was given up"
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
