package redlock

import (
	"errors"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// longestSaid bounds what a tally quotes, in bytes: ledgers keep it.
const longestSaid = 1 << 10

// tally is what each node said, of which some may have been left out.
func (l *Locker) tally(list []*nodes.Node, votes []vote, rounds uint8) locking.Poll {
	p := locking.Poll{Rounds: rounds, List: l.list, Names: l.names}
	for i, v := range votes {
		p.Answers[i] = v.answer(list[i])
		if err := v.objection(); err != nil && len(p.Said) < longestSaid {
			p.Said = quote(p.Said, l.names[i], err)
		}
	}
	return p
}

// answer is what the vote of the node was, in a letter. Why a node was not asked
// that would not have voted is better known.
func (v vote) answer(node *nodes.Node) locking.Answer {
	switch v.code {
	case codeOK, codeRenewed, codeSet:
		return locking.Granted
	case codeBusy, codeClaimed, codeLost:
		return locking.Held
	case codeAbstain:
		return locking.Abstained
	case "":
	default:
		return locking.Refused
	}
	switch {
	case v.err != nil && errors.Is(v.err, locking.ErrRefused):
		return locking.Refused
	case v.err != nil || !node.Up():
		return locking.Unreachable
	case !node.Votes(time.Now()):
		return locking.Abstained
	}
	return locking.NotAsked
}

// quote adds what a node said to what others did.
func quote(said, node string, err error) string {
	text := strings.Join(strings.Fields(locking.NodeError{Node: node, Err: err}.Error()), " ")
	if said != "" {
		text = said + "; " + text
	}
	if len(text) > longestSaid {
		return strings.ToValidUTF8(text[:longestSaid], "") + " …"
	}
	return text
}
