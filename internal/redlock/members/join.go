package members

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
// It returns nil when a quorum of nodes is formatted for this list; Vouching then tells
// whether they abstain for a while. The error matches locking.ErrRefused (the
// *RefusedErrors, joined) when the configuration must be changed. It matches
// locking.ErrNoQuorum when Join should be retried later: too few nodes answer, or blank
// ones wait for the others.
func (s *Set) Join(ctx context.Context) error {
	views := s.setAside(s.examine(ctx))
	if err := judgeAll(views); err != nil {
		return err
	}
	s.warn(views)
	formatted, err := s.formatBlank(ctx, views, (*Set).mayFormat)
	if formatted >= s.Quorum() {
		s.era.set(s.Epoch())
		return nil
	}
	return noQuorum(formatted, s.Quorum(), append(failures(views), err))
}

// setAside removes nodes that a change of the list has left behind because they did not
// answer, and warns about them. The others work without them. They are refused until
// the change was run again.
func (s *Set) setAside(views []view) []view {
	if count(views).ours < s.Quorum() {
		return views
	}
	return slices.DeleteFunc(views, func(v view) bool {
		if v.reply.Err != nil || v.held.epoch >= s.Epoch() {
			return false
		}
		err := v.judge()
		if news := v.node.state.refuse(err); news && s.cfg.Observer.Warn != nil {
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
	errs := twins(views)
	for _, v := range views {
		errs = append(errs, v.judge())
	}
	return join(errs...)
}

func (s *Set) warn(views []view) {
	if s.cfg.Observer.Warn == nil {
		return
	}
	for _, v := range views {
		for _, text := range v.warnings() {
			s.cfg.Observer.Warn(v.node.name, text)
		}
	}
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

type tally struct{ ours, blank int }

func count(views []view) tally {
	return tally{ours: len(nodesOf(views, view.ours)), blank: len(nodesOf(views, view.blank))}
}

// mayFormat reports whether blank nodes cannot be left over from another list (M1). The
// views must hold no node of another list.
func (s *Set) mayFormat(t tally) bool {
	return t.ours >= s.Quorum() || t.ours+t.blank == s.Len()
}

// formatBlank formats the blank nodes among views, if this cell and the others allow
// it. It returns how many nodes are then formatted for this list.
func (s *Set) formatBlank(ctx context.Context, views []view, may func(*Set, tally) bool) (int, error) {
	t := count(views)
	if t.blank == 0 {
		return t.ours, nil
	}
	if !may(s, t) {
		return t.ours, fmt.Errorf("%w: %d of %d nodes are, and are only formatted when all nodes answer or %d are formatted: start the missing nodes, or if they are gone run: quorate nodes init --recover",
			ErrBlank, t.blank, s.Len(), s.Quorum())
	}
	if t.ours < s.Quorum() {
		if err := s.settled(ctx, may); err != nil {
			return t.ours, err
		}
	}
	formatted, err := s.format(ctx, views, sinceNow)
	return t.ours + formatted, err
}

// Values of FORMAT's first argument.
const (
	sinceNever = 0 // the node never served: it votes at once
	sinceNow   = 1
)

// format formats the blank nodes among views, and returns their number.
func (s *Set) format(ctx context.Context, views []view, since int) (int, error) {
	blank := nodesOf(views, view.blank)
	formatted, errs := 0, []error(nil)
	for _, err := range each(blank, func(n *Node) error { return n.format(ctx, since) }) {
		if err == nil {
			formatted++
		}
		errs = append(errs, err)
	}
	return formatted, join(errs...)
}

func (n *Node) format(ctx context.Context, since int) error {
	r := n.run(ctx, n.set.rules.format, since, n.set.members.names, n.set.era.seals())
	n.observe(ctx, r)
	if r.Err != nil {
		return fmt.Errorf("formatting %s: %w", n.name, r.Err)
	}
	if until := n.condition().vouches(); r.Code == "OK" && until.After(time.Now()) && n.set.cfg.Observer.Formatted != nil {
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
	views := s.examine(ctx)
	if err := judgeAll(views); err != nil {
		return err
	}
	t := count(views)
	if recovery {
		if !s.mayRecover(t) {
			return noQuorum(t.ours+t.blank, s.Quorum(), failures(views))
		}
		_, err := s.formatBlank(ctx, views, (*Set).mayRecover)
		return err
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
		s.era.set(s.Epoch())
	}
	return err
}

// mayRecover reports whether blank nodes may be formatted for recovery.
func (s *Set) mayRecover(t tally) bool { return t.ours+t.blank >= s.Quorum() }

// declareNew lets nodes that were formatted before vote at once.
func (s *Set) declareNew(ctx context.Context, views []view) error {
	return join(each(nodesOf(views, view.ours), func(n *Node) error {
		r := n.run(ctx, s.rules.init)
		switch {
		case r.Err != nil:
			return locking.NodeError{Node: n.name, Err: r.Err}
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
	return n.refuse("the node has served this namespace, so it cannot be declared new; blank nodes beside it are formatted by the replicas and vouch after one restart_grace")
}
