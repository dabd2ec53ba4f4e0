package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Change moves a cluster from one list of nodes to another. First a quorum of the old
// list is sealed for the new one, so the old list grants nothing any more. Then the new
// list is opened with the next epoch. Its nodes abstain for one grace, and replicas
// must be restarted with the new list.
//
// A Change can be interrupted at any point and run again, from anywhere. While a quorum
// is sealed and none is open, nothing runs.
type Change struct {
	// From and To must have the same namespace and grace.
	From, To Config
	// DryRun only says what would be done.
	DryRun bool
	// Progress, if not nil, is called for each step, in order.
	Progress func(text string)
}

// Run makes the change. It returns nil when a quorum of the new list is open. The
// error matches locking.ErrRefused if a node forbids the change; if possible that is
// found before the first node is sealed. It matches locking.ErrNoQuorum if too few
// nodes could be sealed or opened: run the change again when more of them answer. Run
// it again also to seal and open nodes that did not answer. Replicas format blank
// nodes.
func (c Change) Run(ctx context.Context) (err error) {
	old, err := Open(c.From)
	if err != nil {
		return fmt.Errorf("old list: %w", err)
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	next, err := Open(c.To)
	if err != nil {
		return fmt.Errorf("new list: %w", err)
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	switch {
	case old.cfg.Namespace != next.cfg.Namespace:
		return fmt.Errorf("the namespaces differ, %s and %s: change only redis.nodes", old.cfg.Namespace, next.cfg.Namespace)
	case old.cfg.Grace != next.cfg.Grace:
		return fmt.Errorf("redis.restart_grace differs, %v and %v: change only redis.nodes", old.cfg.Grace, next.cfg.Grace)
	case old.hash == next.hash:
		return fmt.Errorf("both lists name the same nodes [%s]: there is nothing to change (another URL for the same name needs no change)",
			strings.ReplaceAll(old.list, " ", ", "))
	}
	s := change{Change: c, old: old, new: next}
	if err := s.examine(ctx); err != nil {
		return err
	}
	names := next.Names()
	if !slices.ContainsFunc(old.Names(), func(name string) bool { return slices.Contains(names, name) }) {
		c.printf("no node is in both lists: start no replica with the new list before this change is done, since new nodes alone look like a new cluster")
	}
	if c.DryRun {
		s.announce()
		return nil
	}
	sealedAt, err := s.seal(ctx)
	if err != nil {
		return err
	}
	return s.open(ctx, sealedAt)
}

func (c Change) printf(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// A change is a Change that has examined the nodes of both lists.
type change struct {
	Change
	old, new *Set
	from, to []view // of old and of new; nodes in both lists are in both
	epoch    int64  // of the new list
	// proven: a node was opened, so a quorum of the old list was sealed. It is too late to stop.
	proven bool
}

// examine examines all nodes, and refuses a change that cannot succeed before the first
// node is sealed.
func (s *change) examine(ctx context.Context) error {
	s.from, s.to = s.old.examine(ctx, 1), s.new.examine(ctx, 1)
	s.epoch = max(s.old.epoch.get()+1, s.new.epoch.get())
	s.new.epoch.fix(s.epoch)
	s.old.epoch.fix(s.epoch - 1)
	s.proven = slices.ContainsFunc(s.to, s.opened)
	// Nodes of the new list may forbid the change.
	errs := sameServerErrors(s.to)
	for _, v := range s.to {
		errs = append(errs, v.judgeServer())
		if v.reply.Err == nil && !s.fits(v) {
			errs = append(errs, v.node.refusalf(
				"it holds the list [%s] at epoch %d, which is neither the old list nor this change: stop the replicas that use it and delete its keys of this namespace, or list another node", v.record.listNames, v.record.epoch))
		}
	}
	if !s.proven && s.closed() == 0 {
		errs = append(errs, s.clocks()...)
	}
	if err := join(errs...); err != nil {
		return err
	}
	// Enough of the new list must answer, to be opened.
	var openable error
	if n := len(nodesOf(s.to, s.fits)); n < s.new.Quorum() {
		openable = s.new.noQuorum(n, s.new.Quorum(), append(failures(s.to),
			errors.New("that many nodes of the new list must answer, to be opened: start the missing ones")))
	}
	return join(s.closable(), openable)
}

// clocks returns refusals for nodes so far behind the old list's clocks that OPEN may
// fail. It fails at half a grace.
func (s *change) clocks() []error {
	var latest view
	for _, v := range s.from {
		if v.hasListAndEpoch() && (latest.node == nil || v.offset() > latest.offset()) {
			latest = v
		}
	}
	var errs []error
	for _, v := range s.to {
		if behind := latest.offset() - v.offset(); v.answered() && latest.node != nil && behind > s.new.cfg.Grace/4 {
			errs = append(errs, v.node.refusalf("its clock is %v behind that of %s: correct the clocks first", behind.Round(1e8), latest.node.name))
		}
	}
	return errs
}

// closable returns locking.ErrNoQuorum if too few nodes of the old list can be sealed.
func (s *change) closable() error {
	n := s.closed()
	var others []error
	for _, v := range s.from {
		switch {
		case !v.hasListAndEpoch() || s.isClosed(v):
		case v.record.sealedFor == "":
			n++
		default:
			others = append(others, sealedForOther(v.node, v.record.sealedNames))
		}
	}
	return s.closes(n, others, append(failures(s.from),
		errors.New("that many nodes of the old list must hold it and answer, to be sealed: start the missing ones")))
}

// closes returns nil if n sealed nodes of the old list are enough. Otherwise it says
// why not: other nodes are sealed for another change, or errs.
func (s *change) closes(n int, others, errs []error) error {
	switch {
	case n >= s.old.Quorum() || s.proven:
		return nil
	case len(others) > 0:
		return join(others...)
	}
	return s.old.noQuorum(n, s.old.Quorum(), errs)
}

// sealedForOther says how to end another change: only by finishing it, since anyone who
// saw its seals may still open its list.
func sealedForOther(n *Node, names string) error {
	return n.refusalf(
		"it is sealed for a change to the list [%s]: finish that one first (quorate nodes change --to its file; where a node of that list is gone for good, give its name the URL of an empty one), then change from there", names)
}

// seal seals every node of the old list that it can, and returns the latest clock
// reading of the seals. What the old list granted is at most half a grace later. It
// succeeds when a quorum is sealed.
func (s *change) seal(ctx context.Context) (sealedAt int64, err error) {
	replies := Each(s.old.nodes, func(n *Node) Reply {
		return n.run(ctx, s.old.rules.seal, nil, s.target(), s.new.list)
	})
	closed := 0
	var errs, others []error
	for i, r := range replies {
		n, v := s.old.nodes[i], s.from[i]
		switch {
		case r.Err == nil && r.Code == "OK":
			closed++
			sealedAt = max(sealedAt, r.Int(0))
			s.printf("%s: sealed", n.name)
		case s.isClosed(v) && v.record.listHash == s.new.hash:
			closed++
			sealedAt = max(sealedAt, v.record.sealedAt)
			s.printf("%s: was opened before", n.name)
		case r.Code == "OTHER":
			others = append(others, sealedForOther(n, r.Arg(0)))
			s.printf("%s: not sealed: it is sealed for the list [%s]", n.name, r.Arg(0))
		default:
			s.printf("%s: not sealed: %s", n.name, withoutNode(n.name, r.Err))
			errs = append(errs, locking.NodeError{Node: n.name, Err: r.Err})
		}
	}
	again := errors.New("run the same change again when the others answer; until then nothing runs where a quorum is sealed")
	if err := s.closes(closed, others, append(errs, again)); err != nil {
		return 0, err
	}
	if closed >= s.old.Quorum() {
		s.printf("the old list grants nothing any more: %d of its %d nodes are sealed", closed, s.old.Len())
	} else {
		s.printf("the old list grants nothing any more: nodes of the new one were opened before")
	}
	return sealedAt, nil
}

// open makes members of all nodes of the new list that can be. The caller must have
// seen a quorum of the old list sealed. It succeeds when a quorum is open.
func (s *change) open(ctx context.Context, sealedAt int64) error {
	for _, v := range s.to {
		if s.opened(v) {
			sealedAt = max(sealedAt, v.record.sealedAt)
		}
	}
	replies := Each(s.new.nodes, func(n *Node) Reply {
		return n.run(ctx, s.new.rules.open, nil, s.new.list, sealedAt, s.old.hash)
	})
	open, errs := 0, []error(nil)
	for i, r := range replies {
		n := s.new.nodes[i]
		if r.Err != nil {
			s.printf("%s: not opened: %s", n.name, withoutNode(n.name, r.Err))
			errs = append(errs, locking.NodeError{Node: n.name, Err: r.Err})
			continue
		}
		open++
		how := "opened"
		if r.Code == "HELD" {
			how = "was opened before"
		}
		s.printf("%s: %s, epoch %d; it vouches from %s", n.name, how, s.epoch, n.current().vouches().UTC().Format(time.RFC3339))
	}
	if open < s.new.Quorum() {
		return s.new.noQuorum(open, s.new.Quorum(), append(errs, errors.New("nothing runs until then: run the same change again when they answer")))
	}
	s.printf("the new list is open: %d of its %d nodes", open, s.new.Len())
	return nil
}

// withoutNode returns the text of err without the leading name of the node.
func withoutNode(node string, err error) string {
	return strings.TrimPrefix(err.Error(), node+": ")
}

// fits reports whether the node of the new list is, or can become, a member.
func (s *change) fits(v view) bool { return v.blank() || s.opened(v) || s.inOld(v) }

// target identifies what the nodes of the old list are sealed for.
func (s *change) target() string {
	return fmt.Sprintf("%s:%d", s.new.hash, s.epoch)
}

// opened reports whether this change has opened the node of the new list.
func (s *change) opened(v view) bool {
	return v.hasList() && v.record.epoch == s.epoch && v.record.sealedAt != 0
}

// inOld reports whether the node of the new list is still a member of the old one.
func (s *change) inOld(v view) bool {
	return v.reply.Err == nil && v.record.listHash == s.old.hash && v.record.epoch == s.epoch-1
}

// closed counts the nodes of the old list that grant nothing any more: sealed for this
// change, or opened by it.
func (s *change) closed() int {
	return len(nodesOf(s.from, s.isClosed))
}

func (s *change) isClosed(v view) bool {
	opened := v.reply.Err == nil && v.record.listHash == s.new.hash && v.record.epoch == s.epoch
	return opened || v.hasListAndEpoch() && v.record.sealedFor == s.target()
}

// announce says what would be done.
func (s *change) announce() {
	for _, v := range s.from {
		switch {
		case s.isClosed(v):
			s.printf("%s: is sealed or opened already", v.node.name)
		case v.hasListAndEpoch():
			s.printf("%s: would be sealed", v.node.name)
		default:
			s.printf("%s: cannot be sealed: %s", v.node.name, v.why())
		}
	}
	for _, v := range s.to {
		switch {
		case s.opened(v):
			s.printf("%s: is opened already", v.node.name)
		case s.inOld(v):
			s.printf("%s: would be opened with epoch %d, and keep its claims", v.node.name, s.epoch)
		case v.blank():
			s.printf("%s: would be opened with epoch %d, as a new node", v.node.name, s.epoch)
		default:
			s.printf("%s: cannot be opened: %s", v.node.name, v.why())
		}
	}
}

// why describes what prevents the change at the node.
func (v view) why() string {
	if v.reply.Err != nil {
		return v.reply.Err.Error()
	}
	return "it holds the list [" + v.record.listNames + "]"
}
