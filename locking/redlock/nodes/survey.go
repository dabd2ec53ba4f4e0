package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A survey is what a change of the list found on the nodes of both lists before
// it did anything.
type survey struct {
	old, new *Set
	from, to []view // of old and of new; nodes in both lists are in both
	// epoch is that of the new list.
	epoch int64
	// proven: a node has been opened, so a quorum of the old list was sealed.
	proven bool
	// plan is the hash of all new lists where the layout of cells is changed.
	plan string
}

// look examines both lists and refuses what cannot come to a good end, before
// the first node is sealed.
func look(ctx context.Context, old, next *Set) (*survey, error) {
	s := &survey{old: old, new: next, from: old.examine(ctx), to: next.examine(ctx)}
	s.epoch = max(old.Epoch()+1, next.Epoch())
	old.era.set(s.epoch - 1)
	next.era.set(s.epoch)
	for _, v := range s.to {
		s.proven = s.proven || s.opened(v)
	}
	if err := s.judge(); err != nil {
		return nil, err
	}
	if err := s.closable(); err != nil {
		return nil, err
	}
	return s, s.openable()
}

// judge returns why nodes of the new list forbid the change.
func (s *survey) judge() error {
	errs := twins(s.to)
	for _, v := range s.to {
		errs = append(errs, v.judgeServer(), s.unfit(v))
	}
	if !s.proven && s.closed() == 0 { // else it is too late to turn back
		errs = append(errs, s.clocks()...)
	}
	return join(errs...)
}

// unfit returns why the node of the new list cannot become a member.
func (s *survey) unfit(v view) error {
	if formatted := v.reply.Err == nil; !formatted || s.opened(v) || s.inOld(v) {
		return nil
	}
	return &RefusedError{Node: v.node.name, Reason: fmt.Sprintf(
		"it holds the list [%s] at epoch %d, which is neither the old list nor this change: stop the replicas that use it and empty it (FLUSHALL), or list another node", listText(v.held.names), v.held.epoch)}
}

// clocks returns which nodes are so far behind the old list's that they may
// refuse to be opened, which they do at half a grace.
func (s *survey) clocks() []error {
	var latest view
	for _, v := range s.from {
		if v.ours() && (latest.node == nil || v.offset() > latest.offset()) {
			latest = v
		}
	}
	var errs []error
	for _, v := range s.to {
		if behind := latest.offset() - v.offset(); v.answered() && latest.node != nil && behind > s.new.cfg.Grace/4 {
			errs = append(errs, &RefusedError{Node: v.node.name, Reason: fmt.Sprintf(
				"its clock is %v behind that of %s: set the clocks right first", behind.Round(1e8), latest.node.name)})
		}
	}
	return errs
}

// closable returns locking.ErrNoQuorum if too few nodes of the old list are there
// to be sealed.
func (s *survey) closable() error {
	n := s.closed()
	var others []error
	for _, v := range s.from {
		switch {
		case !v.ours() || s.shut(v):
		case v.held.sealedFor == "":
			n++
		default:
			others = append(others, sealedForOther(v.node, v.held.sealedNames))
		}
	}
	switch {
	case n >= s.old.Quorum() || s.proven:
		return nil
	case len(others) > 0:
		return join(others...)
	}
	return noQuorum(n, s.old.Quorum(), append(failures(s.from),
		errors.New("that many nodes of the old list must hold it and answer, to be sealed: start the missing ones")))
}

// openable returns locking.ErrNoQuorum if too few nodes of the new list are there
// to be opened.
func (s *survey) openable() error {
	n := 0
	for _, v := range s.to {
		if v.blank() || s.opened(v) || s.inOld(v) {
			n++
		}
	}
	if n >= s.new.Quorum() {
		return nil
	}
	return noQuorum(n, s.new.Quorum(), append(failures(s.to),
		errors.New("that many nodes of the new list must answer, to be opened: start the missing ones")))
}

// overlap tells whether a node is in both lists. If so it refuses replicas that
// come too early with the new list.
func (s *survey) overlap() bool {
	return slices.ContainsFunc(s.old.Names(), func(name string) bool { return slices.Contains(s.new.Names(), name) })
}

func (s *survey) target() string {
	if s.plan != "" {
		return s.plan + ":" + strconv.FormatInt(s.epoch, 10)
	}
	return s.new.members.target(s.epoch)
}

// opened tells whether the node of the new list is a member already. Of a layout
// of cells the list alone does not tell what the others are: one that another
// change has opened is no member of this one.
func (s *survey) opened(v view) bool {
	plan := planOf(v.held.names)
	return v.listed() && v.held.epoch == s.epoch && v.held.sealedAt != 0 && (plan == s.plan || plan == "" || s.plan == "")
}

// inOld tells whether the node of the new list is still a member of the old.
func (s *survey) inOld(v view) bool {
	return v.reply.Err == nil && v.held.members == s.old.members.hash && v.held.epoch == s.epoch-1
}

// closed counts the nodes of the old list that grant nothing there any more:
// sealed for this change, or opened by it.
func (s *survey) closed() int {
	n := 0
	for _, v := range s.from {
		if s.shut(v) {
			n++
		}
	}
	return n
}

func (s *survey) shut(v view) bool {
	opened := v.reply.Err == nil && v.held.members == s.new.members.hash && v.held.epoch == s.epoch
	return opened || v.ours() && v.held.sealedFor == s.target()
}

// sealedForOther says how a change that was begun is got rid of: only by its
// end, since whoever has seen its seals may still open that list.
func sealedForOther(n *Node, names string) error {
	return &RefusedError{Node: n.name, Reason: fmt.Sprintf(
		"it is sealed for a change to the list [%s]: finish that one first (quorate nodes change --to its file; where a node of that list is gone for good, give its name the URL of an empty one), then change from there", listText(names))}
}

// successive returns why the two lists cannot follow each other.
func successive(old, next *Set) error {
	if err := akin(old, next); err != nil {
		return err
	}
	if old.members.hash == next.members.hash {
		return errNothingToChange(listText(next.members.names))
	}
	return nil
}

func errNothingToChange(names string) error {
	return fmt.Errorf("both lists name the same nodes [%s]: there is nothing to change (another URL for the same name needs no change)", strings.ReplaceAll(names, " ", ", "))
}

// akin returns why two lists cannot be those of one cluster.
func akin(old, next *Set) error {
	switch {
	case old.cfg.Namespace != next.cfg.Namespace:
		return fmt.Errorf("the namespaces differ, %s and %s: change only redis.nodes", old.cfg.Namespace, next.cfg.Namespace)
	case old.cfg.Grace != next.cfg.Grace:
		return fmt.Errorf("redis.restart_grace differs, %v and %v: change only redis.nodes", old.cfg.Grace, next.cfg.Grace)
	}
	return nil
}
