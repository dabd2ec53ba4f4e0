package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// Join examines all nodes and formats blank ones if that is safe. A replica must call
// it first.
//
// It returns nil when a quorum of nodes is formatted for this list; QuorumVotesAt then tells
// whether they abstain for a while. The error matches locking.ErrRefused (the
// *RefusedErrors, joined) when the configuration must be changed. It matches
// locking.ErrNoQuorum when Join should be retried later: too few nodes answer or take writes,
// or blank ones wait for the others. It is an *UnwritableError if one Redis keeps everything.
func (s *Set) Join(ctx context.Context) error {
	views := s.setAside(s.examine(ctx, 1))
	if err := judgeAll(views); err != nil {
		return err
	}
	if s.cfg.Observer.Warn != nil {
		for _, v := range views {
			for _, text := range v.warnings() {
				s.cfg.Observer.Warn(v.node.name, text)
			}
		}
	}
	formatted, err := s.formatBlank(ctx, views)
	if formatted < s.Quorum() {
		return s.noQuorum(formatted, s.Quorum(), append(failures(views), err))
	}
	s.epoch.fix(s.epoch.get())
	written := nodesOf(views, func(v view) bool { return v.hasListAndEpoch() || v.blank() })
	unwritable := nonNil(Each(written, func(n *Node) error { return tryWrites(ctx, n) }))
	switch n := formatted - len(unwritable); {
	case n >= s.Quorum():
		return nil
	case s.OneStore():
		return unwritable[0]
	default:
		return s.noQuorum(n, s.Quorum(), unwritable)
	}
}

// counts returns how many nodes are formatted for this list, and how many are blank.
func counts(views []view) (ours, blank int) {
	return len(nodesOf(views, view.hasListAndEpoch)), len(nodesOf(views, view.blank))
}

// setAside removes nodes that a change of the list has left behind because they did not
// answer, and warns about them. The others work without them. They are not used until
// the change was run again.
func (s *Set) setAside(views []view) []view {
	if ours, _ := counts(views); ours < s.Quorum() {
		return views
	}
	return slices.DeleteFunc(views, func(v view) bool {
		if v.reply.Err != nil || v.record.epoch >= s.epoch.get() {
			return false
		}
		err := v.judge()
		if before := v.node.learn(func(st *state) { st.unfit = err }); before.unfit == nil && s.cfg.Observer.Warn != nil {
			s.cfg.Observer.Warn(v.node.name, "it was left behind by a change of the list; run that quorate nodes change again: "+err.Error())
		}
		return true
	})
}

// nodesOf returns the nodes whose view satisfies is.
func nodesOf(views []view, is func(view) bool) []*Node {
	var list []*Node
	for _, v := range views {
		if is(v) {
			list = append(list, v.node)
		}
	}
	return list
}

// judgeAll returns every reason not to use these nodes together.
func judgeAll(views []view) error {
	errs := sameServerErrors(views)
	for _, v := range views {
		errs = append(errs, v.judge())
	}
	return join(errs...)
}

// failures returns the errors of nodes that cannot be used now, except blank ones.
func failures(views []view) []error {
	var errs []error
	for _, v := range views {
		if v.reply.Err != nil && !v.blank() {
			errs = append(errs, locking.NodeError{Node: v.node.name, Err: v.reply.Err})
		}
	}
	return errs
}

// mayFormat reports whether blank nodes cannot be left over from another list (M1). The
// views must hold no node of another list.
func (s *Set) mayFormat(views []view) bool {
	ours, blank := counts(views)
	return ours >= s.Quorum() || ours+blank == s.Len()
}

// formatBlank formats the blank nodes, if that is safe. It returns how many nodes are then
// formatted for this list.
func (s *Set) formatBlank(ctx context.Context, views []view) (int, error) {
	ours, blank := counts(views)
	switch {
	case blank == 0:
		return ours, nil
	case !s.mayFormat(views):
		return ours, fmt.Errorf("%w: %d of %d nodes are, and are only formatted when all nodes answer or %d are formatted: start the missing nodes, or if they are gone run: quorate store init --recover",
			ErrBlank, blank, s.Len(), s.Quorum())
	}
	formatted, err := format(ctx, views, sinceNow)
	return ours + formatted, err
}

// Values of FORMAT's first argument.
const (
	sinceNever = 0 // the node never served: it votes at once
	sinceNow   = 1
)

// format formats the blank nodes, and returns their number.
func format(ctx context.Context, views []view, since int) (int, error) {
	blank := nodesOf(views, view.blank)
	errs := nonNil(Each(blank, func(n *Node) error { return n.format(ctx, since) }))
	return len(blank) - len(errs), join(errs...)
}

func (n *Node) format(ctx context.Context, since int) error {
	n.set.epoch.mu.Lock()
	sealedAt := n.set.epoch.sealedAt
	n.set.epoch.mu.Unlock()
	r := n.run(ctx, n.set.rules.format, nil, since, n.set.list, sealedAt)
	n.observe(ctx, r)
	if r.Err != nil {
		return fmt.Errorf("formatting %s: %w", n.name, r.Err)
	}
	if until := n.current().vouches(); r.Code == "OK" && until.After(time.Now()) && n.set.cfg.Observer.Formatted != nil {
		n.set.cfg.Observer.Formatted(n.name, until)
	}
	return nil
}

// Init declares that these nodes never served the namespace, so they vote at once. It
// may be repeated. The nodes must be blank, or formatted for this list and never
// written to by a replica.
//
// With recovery it assumes the opposite: a missing node keeps blank ones from being
// formatted. It then formats the blank nodes of an answering quorum, which abstain for
// one grace.
//
// The error matches locking.ErrRefused when these nodes do not allow it, and
// locking.ErrNoQuorum when too few answer.
func (s *Set) Init(ctx context.Context, recovery bool) error {
	views := s.examine(ctx, 1)
	if err := judgeAll(views); err != nil {
		return err
	}
	ours, blank := counts(views)
	if recovery {
		if ours+blank < s.Quorum() {
			return s.noQuorum(ours+blank, s.Quorum(), failures(views))
		}
		_, err := format(ctx, views, sinceNow)
		return err
	}
	var served []error
	for _, v := range views {
		if v.record.served {
			served = append(served, servedError(v.node))
		}
	}
	if len(served) > 0 {
		return join(served...)
	}
	if !s.mayFormat(views) {
		why := failures(views)
		if !s.OneStore() {
			why = append(why, errors.New("new nodes are declared together: start the missing ones, or if they are gone run: quorate store init --recover"))
		}
		return s.noQuorum(ours+blank, s.Len(), why)
	}
	_, err := format(ctx, views, sinceNever)
	if err = join(err, declareNew(ctx, views)); err == nil {
		s.epoch.fix(s.epoch.get())
	}
	return err
}

// declareNew lets nodes that were formatted before vote at once.
func declareNew(ctx context.Context, views []view) error {
	return join(Each(nodesOf(views, view.hasListAndEpoch), func(n *Node) error {
		r := n.run(ctx, n.set.rules.init, nil)
		switch {
		case r.Err != nil:
			return locking.NodeError{Node: n.name, Err: r.Err}
		case r.Code == "SERVED":
			return servedError(n)
		}
		return nil
	})...)
}

func servedError(n *Node) error {
	text := "the node has served this namespace, so it cannot be declared new"
	if !n.set.OneStore() {
		text += "; blank nodes beside it are formatted by the replicas and vouch after one restart_grace"
	}
	return n.refusalf("%s", text)
}
