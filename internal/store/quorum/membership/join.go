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
// It returns nil when a quorum of nodes is formatted for this list; Vouching then tells
// whether they abstain for a while. The error matches locking.ErrRefused (the
// *RefusedErrors, joined) when the configuration must be changed. It matches
// locking.ErrNoQuorum when Join should be retried later: too few nodes answer or take writes,
// or blank ones wait for the others. It is an *UnwritableError if one Redis keeps everything.
func (s *Set) Join(ctx context.Context) error {
	c := s.examine(ctx).setAside()
	if err := judgeAll(c.views); err != nil {
		return err
	}
	c.warn()
	formatted, err := c.formatBlank(ctx, census.mayFormat)
	if formatted < s.Quorum() {
		return s.noQuorum(formatted, s.Quorum(), append(failures(c.views), err))
	}
	s.era.set(s.Epoch())
	var unwritable errorList
	for _, err := range each(nodesOf(c.views, func(v view) bool { return v.ours() || v.blank() }), func(n *Node) error { return tryWrites(ctx, n) }) {
		if err != nil {
			unwritable = append(unwritable, err)
		}
	}
	switch n := formatted - len(unwritable); {
	case n >= s.Quorum():
		return nil
	case s.OneStore():
		return unwritable[0]
	default:
		return s.noQuorum(n, s.Quorum(), unwritable)
	}
}

// A census is one examination of all nodes of a Set.
type census struct {
	*Set
	views []view
}

// counts returns how many nodes are formatted for this list, and how many are blank.
func (c census) counts() (ours, blank int) {
	return len(nodesOf(c.views, view.ours)), len(nodesOf(c.views, view.blank))
}

// setAside removes nodes that a change of the list has left behind because they did not
// answer, and warns about them. The others work without them. They are refused until
// the change was run again.
func (c census) setAside() census {
	if ours, _ := c.counts(); ours < c.Quorum() {
		return c
	}
	c.views = slices.DeleteFunc(c.views, func(v view) bool {
		if v.reply.Err != nil || v.held.epoch >= c.Epoch() {
			return false
		}
		err := v.judge()
		if news := v.node.state.refuse(err); news && c.cfg.Observer.Warn != nil {
			c.cfg.Observer.Warn(v.node.name, "it was left behind by a change of the list; run that quorate nodes change again: "+err.Error())
		}
		return true
	})
	return c
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

func (c census) warn() {
	if c.cfg.Observer.Warn == nil {
		return
	}
	for _, v := range c.views {
		for _, text := range v.warnings() {
			c.cfg.Observer.Warn(v.node.name, text)
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

// mayFormat reports whether blank nodes cannot be left over from another list (M1). The
// views must hold no node of another list.
func (c census) mayFormat() bool {
	ours, blank := c.counts()
	return ours >= c.Quorum() || ours+blank == c.Len()
}

// mayRecover reports whether blank nodes may be formatted for recovery.
func (c census) mayRecover() bool {
	ours, blank := c.counts()
	return ours+blank >= c.Quorum()
}

// formatBlank formats the blank nodes, if that is safe. It returns how many nodes are then
// formatted for this list.
func (c census) formatBlank(ctx context.Context, may func(census) bool) (int, error) {
	ours, blank := c.counts()
	if blank == 0 {
		return ours, nil
	}
	if !may(c) {
		return ours, fmt.Errorf("%w: %d of %d nodes are, and are only formatted when all nodes answer or %d are formatted: start the missing nodes, or if they are gone run: quorate store init --recover",
			ErrBlank, blank, c.Len(), c.Quorum())
	}
	formatted, err := c.format(ctx, sinceNow)
	return ours + formatted, err
}

// Values of FORMAT's first argument.
const (
	sinceNever = 0 // the node never served: it votes at once
	sinceNow   = 1
)

// format formats the blank nodes, and returns their number.
func (c census) format(ctx context.Context, since int) (int, error) {
	formatted, errs := 0, []error(nil)
	for _, err := range each(nodesOf(c.views, view.blank), func(n *Node) error { return n.format(ctx, since) }) {
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
	c := s.examine(ctx)
	if err := judgeAll(c.views); err != nil {
		return err
	}
	ours, blank := c.counts()
	if recovery {
		if !c.mayRecover() {
			return s.noQuorum(ours+blank, s.Quorum(), failures(c.views))
		}
		_, err := c.formatBlank(ctx, census.mayRecover)
		return err
	}
	if err := refuseServed(c.views); err != nil {
		return err
	}
	if !c.mayFormat() {
		why := failures(c.views)
		if !s.OneStore() {
			why = append(why, errors.New("new nodes are declared together: start the missing ones, or if they are gone run: quorate store init --recover"))
		}
		return s.noQuorum(ours+blank, s.Len(), why)
	}
	_, err := c.format(ctx, sinceNever)
	if err = join(err, c.declareNew(ctx)); err == nil {
		s.era.set(s.Epoch())
	}
	return err
}

// declareNew lets nodes that were formatted before vote at once.
func (c census) declareNew(ctx context.Context) error {
	return join(each(nodesOf(c.views, view.ours), func(n *Node) error {
		r := n.run(ctx, c.rules.init)
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
	text := "the node has served this namespace, so it cannot be declared new"
	if !n.set.OneStore() {
		text += "; blank nodes beside it are formatted by the replicas and vouch after one restart_grace"
	}
	return n.refuse("%s", text)
}
