package nodes

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
)

// sealAll seals every node of the old list that can be, and returns the latest
// clock reading of the seals: what the old list granted lies at most half a grace
// beyond it. It is done when a quorum is sealed.
func (s *survey) sealAll(ctx context.Context, say func(string, ...any)) (sealedAt int64, err error) {
	replies := each(s.old.nodes, func(n *Node) Reply {
		return n.run(ctx, s.old.rules.seal, nil, []any{s.target(), s.new.members.names})
	})
	closed := 0
	var errs, others []error
	for i, r := range replies {
		n, v := s.old.nodes[i], s.from[i]
		switch {
		case r.Err == nil && r.Code == "OK":
			closed++
			sealedAt = max(sealedAt, r.Int(0))
			say("%s: sealed", n.name)
		case s.shut(v) && v.held.members == s.new.members.hash:
			closed++
			sealedAt = max(sealedAt, v.held.sealedAt)
			say("%s: was opened before", n.name)
		case r.Code == "OTHER":
			others = append(others, sealedForOther(n, r.Arg(0)))
			say("%s: not sealed: it is sealed for the list [%s]", n.name, listText(r.Arg(0)))
		default:
			say("%s: not sealed: %s", n.name, bare(n.name, r.Err))
			errs = append(errs, n.told(r.Err))
		}
	}
	for _, v := range s.to {
		if s.opened(v) {
			sealedAt = max(sealedAt, v.held.sealedAt)
		}
	}
	if closed < s.old.Quorum() && !s.proven {
		if len(others) > 0 {
			return 0, join(others...)
		}
		return 0, noQuorum(closed, s.old.Quorum(), append(errs, errors.New("run the same change again when the others answer; until then nothing runs where a quorum is sealed")))
	}
	if closed >= s.old.Quorum() {
		say("the old list grants nothing any more: %d of its %d nodes are sealed", closed, s.old.Len())
	} else {
		say("the old list grants nothing any more: nodes of the new one were opened before")
	}
	return sealedAt, nil
}

// told returns err with the name of the node in front.
func (n *Node) told(err error) error {
	if errors.Is(err, locking.ErrRefused) {
		return err // names it already
	}
	return fmt.Errorf("%s: %w", n.name, err)
}

// bare is the text of err without the name of the node in front.
func bare(node string, err error) string {
	if refusal, ok := errors.AsType[*RefusedError](err); ok && refusal.Node == node {
		return refusal.Reason
	}
	return err.Error()
}
