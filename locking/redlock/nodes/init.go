package nodes

import (
	"context"
	"errors"
	"fmt"
)

// Init is the operator's word that these nodes never served the namespace:
// they vouch at once. It may be repeated, and works on nodes that are blank or
// formatted for this list and never accepted a claim.
//
// With recovery it makes the opposite assumption, for when a node that is gone
// keeps blank ones from being formatted: the blank ones among the answering
// quorum are formatted and abstain for one grace.
//
// It returns an error matching locking.ErrRefused when that is not possible
// with these nodes, and locking.ErrNoQuorum when too few answer.
func (s *Set) Init(ctx context.Context, recovery bool) error {
	views := s.examine(ctx)
	if err := judgeAll(views); err != nil {
		return err
	}
	t := count(views)
	if recovery {
		return s.salvage(ctx, views, t)
	}
	if err := refuseServed(views); err != nil {
		return err
	}
	if !s.mayFormat(t) {
		return noQuorum(t.ours+t.blank, s.Len(), append(failures(views),
			errors.New("new nodes are declared together: start the missing ones, or if they are gone run: quorate nodes init --recover")))
	}
	if err := join(s.settled(ctx, (*Set).mayFormat), s.unserved(ctx)); err != nil {
		return err
	}
	_, err := s.format(ctx, views, sinceNever)
	if err = join(err, s.declareNew(ctx, views)); err == nil {
		s.era.fix()
	}
	return err
}

// maySalvage is the condition under which recovery may format blank nodes.
func (s *Set) maySalvage(t tally) bool { return t.ours+t.blank >= s.Quorum() }

// salvage formats the blank nodes of an answering quorum.
func (s *Set) salvage(ctx context.Context, views []view, t tally) error {
	if t.ours+t.blank < s.Quorum() {
		return noQuorum(t.ours+t.blank, s.Quorum(), failures(views))
	}
	if t.ours < s.Quorum() {
		if err := s.settled(ctx, (*Set).maySalvage); err != nil {
			return err
		}
	}
	_, err := s.format(ctx, views, sinceNow)
	return err
}

// declareNew lets the nodes that were formatted before vouch at once.
func (s *Set) declareNew(ctx context.Context, views []view) error {
	var formatted []*Node
	for _, v := range views {
		if v.ours() {
			formatted = append(formatted, v.node)
		}
	}
	return join(each(formatted, func(n *Node) error {
		r := n.run(ctx, s.rules.init, nil, nil)
		switch {
		case r.Err != nil:
			return fmt.Errorf("%s: %w", n.name, r.Err)
		case r.Code == "SERVED":
			return servedError(n)
		}
		return nil
	})...)
}

func refuseServed(views []view) error {
	var errs []error
	for _, v := range views {
		if v.held.served {
			errs = append(errs, servedError(v.node))
		}
	}
	return join(errs...)
}

func servedError(n *Node) error {
	return &RefusedError{Node: n.name, Reason: "the node has served this namespace, so it cannot be declared new; blank nodes beside it are formatted by the replicas and vouch after one restart_grace"}
}
