package nodes

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Join examines all nodes and formats the blank ones where that is safe. It is
// what a replica does before its first call.
//
// It returns nil when a quorum of nodes is formatted for this list; Vouching
// then tells whether they abstain for a while. It returns an error matching
// locking.ErrRefused (the *RefusedErrors joined) when the configuration must be
// changed, and one matching locking.ErrNoQuorum when Join should be tried again
// later: too few nodes answer, or blank ones wait for the others.
func (s *Set) Join(ctx context.Context) error {
	views := s.setAside(s.examine(ctx))
	if err := judgeAll(views); err != nil {
		return err
	}
	s.warn(views)
	formatted, err := s.formatBlank(ctx, views)
	if formatted >= s.Quorum() {
		s.era.fix()
		return nil
	}
	return noQuorum(formatted, s.Quorum(), append(failures(views), err))
}

// setAside takes nodes out of views that a change of the list has left behind,
// since they did not answer then: the others do without them. They are refused
// until the change has been run again, and told of.
func (s *Set) setAside(views []view) []view {
	if count(views).ours < s.Quorum() {
		return views
	}
	return slices.DeleteFunc(views, func(v view) bool {
		if v.reply.Err != nil || v.held.epoch >= s.Epoch() {
			return false
		}
		err := v.judge()
		if news := v.node.health.setRefused(err); news && s.cfg.Observer.Warn != nil {
			s.cfg.Observer.Warn(v.node.name, "it was left behind by a change of the list; run that quorate nodes change again: "+err.Error())
		}
		return true
	})
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

// failures returns why nodes cannot be used now, blank ones left out.
func failures(views []view) []error {
	var errs []error
	for _, v := range views {
		if v.reply.Err != nil && !v.blank() {
			errs = append(errs, fmt.Errorf("%s: %w", v.node.name, v.reply.Err))
		}
	}
	return errs
}

// tally counts what views found.
type tally struct{ ours, blank, answered int }

func count(views []view) tally {
	var t tally
	for _, v := range views {
		switch {
		case v.ours():
			t.ours++
		case v.blank():
			t.blank++
		}
		if v.answered() {
			t.answered++
		}
	}
	return t
}

// mayFormat is the condition under which blank nodes are known not to be the
// remains of another list (M1). The views hold no node of another list.
func (s *Set) mayFormat(t tally) bool {
	return t.ours >= s.Quorum() || t.ours+t.blank == s.Len()
}

// formatBlank formats the blank nodes among views if it may. It returns how
// many nodes are formatted for this list now.
func (s *Set) formatBlank(ctx context.Context, views []view) (int, error) {
	t := count(views)
	if t.blank == 0 {
		return t.ours, nil
	}
	if !s.mayFormat(t) {
		return t.ours, fmt.Errorf("%w: %d of %d nodes are, and are only formatted when all nodes answer or %d are formatted: start the missing nodes, or if they are gone run: quorate nodes init --recover",
			ErrBlank, t.blank, s.Len(), s.Quorum())
	}
	if t.ours < s.Quorum() {
		if err := s.settled(ctx, (*Set).mayFormat); err != nil {
			return t.ours, err
		}
	}
	formatted, err := s.format(ctx, views, sinceNow)
	return t.ours + formatted, err
}

// Values of FORMAT's first argument.
const (
	sinceNever = 0 // the node never served: it vouches at once
	sinceNow   = 1
)

// format formats the blank nodes among views, and tells how many it was.
func (s *Set) format(ctx context.Context, views []view, since int) (int, error) {
	var blank []*Node
	for _, v := range views {
		if v.blank() {
			blank = append(blank, v.node)
		}
	}
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
	r := n.run(ctx, n.set.rules.format, nil, []any{since, n.set.members.names, n.set.era.seals()})
	n.observe(ctx, r)
	if r.Err != nil {
		return fmt.Errorf("formatting %s: %w", n.name, r.Err)
	}
	if until := n.clock.vouches(); r.Code == "OK" && until.After(time.Now()) && n.set.cfg.Observer.Formatted != nil {
		n.set.cfg.Observer.Formatted(n.name, until)
	}
	return nil
}
