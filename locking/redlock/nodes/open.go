package nodes

import (
	"context"
	"errors"
	"time"
)

// openAll makes every node of the new list that can be a member of it. The caller
// has seen a quorum of the old list sealed. It is done when a quorum is open.
func (s *survey) openAll(ctx context.Context, sealedAt int64, say func(string, ...any)) error {
	replies := each(s.new.nodes, func(n *Node) Reply {
		return n.run(ctx, s.new.rules.open, nil, []any{s.planned(), sealedAt, s.old.members.hash})
	})
	open, errs := 0, []error(nil)
	for i, r := range replies {
		n := s.new.nodes[i]
		if r.Err != nil {
			say("%s: not opened: %s", n.name, bare(n.name, r.Err))
			errs = append(errs, n.told(r.Err))
			continue
		}
		open++
		how := "opened"
		if r.Code == "HELD" {
			how = "was opened before"
		}
		say("%s: %s, epoch %d; it vouches from %s", n.name, how, s.epoch, n.clock.vouches().UTC().Format(time.RFC3339))
	}
	if open < s.new.Quorum() {
		return noQuorum(open, s.new.Quorum(), append(errs, errors.New("nothing runs until then: run the same change again when they answer")))
	}
	say("the new list is open: %d of its %d nodes", open, s.new.Len())
	return nil
}
