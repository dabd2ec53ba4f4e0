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
	if err := sameCluster(old, next); err != nil {
		return err
	}
	if old.hash == next.hash {
		return fmt.Errorf("both lists name the same nodes [%s]: there is nothing to change (another URL for the same name needs no change)",
			strings.ReplaceAll(old.list, " ", ", "))
	}
	s, err := look(ctx, old, next)
	if err != nil {
		return err
	}
	if !s.overlap() {
		c.printf("no node is in both lists: start no replica with the new list before this change is done, since new nodes alone look like a new cluster")
	}
	if c.DryRun {
		s.announceSeals(c.printf)
		s.announceOpens(c.printf)
		return nil
	}
	return s.change(ctx, c.printf)
}

// sameCluster returns why two lists cannot belong to one cluster.
func sameCluster(old, next *Set) error {
	switch {
	case old.cfg.Namespace != next.cfg.Namespace:
		return fmt.Errorf("the namespaces differ, %s and %s: change only redis.nodes", old.cfg.Namespace, next.cfg.Namespace)
	case old.cfg.Grace != next.cfg.Grace:
		return fmt.Errorf("redis.restart_grace differs, %v and %v: change only redis.nodes", old.cfg.Grace, next.cfg.Grace)
	}
	return nil
}

func (c Change) printf(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// A survey is the state of the nodes of both lists before a change.
type survey struct {
	old, new *Set
	from, to []view // of old and of new; nodes in both lists are in both
	// epoch is that of the new list.
	epoch int64
	// proven: a node was opened, so a quorum of the old list was sealed.
	proven bool
}

// look examines all nodes, and refuses a change that cannot succeed before the first
// node is sealed.
func look(ctx context.Context, old, next *Set) (*survey, error) {
	s := &survey{old: old, new: next}
	s.from, s.to = old.examine(ctx), next.examine(ctx)
	s.epoch = max(old.Epoch()+1, next.Epoch())
	next.fixEpoch(s.epoch)
	old.fixEpoch(s.epoch - 1)
	s.proven = slices.ContainsFunc(s.to, s.opened)
	if err := s.judge(); err != nil {
		return nil, err
	}
	return s, join(s.closable(), s.openable())
}

// change seals the old list and then opens the new one.
func (s *survey) change(ctx context.Context, say func(string, ...any)) error {
	sealedAt, err := s.sealAll(ctx, say)
	if err != nil {
		return err
	}
	for _, v := range s.to {
		if s.opened(v) {
			sealedAt = max(sealedAt, v.record.sealedAt)
		}
	}
	return s.openAll(ctx, sealedAt, say)
}

// judge returns why nodes of the new list forbid the change.
func (s *survey) judge() error {
	errs := twins(s.to)
	for _, v := range s.to {
		errs = append(errs, v.judgeServer(), s.unfit(v))
	}
	if !s.proven && s.closed() == 0 { // else it is too late to stop
		errs = append(errs, s.clocks()...)
	}
	return join(errs...)
}

// unfit returns why the node of the new list cannot become a member.
func (s *survey) unfit(v view) error {
	if v.reply.Err != nil || s.fits(v) {
		return nil //nolint:nilerr // judgeServer says what is wrong with a node that did not answer
	}
	return v.node.refuse(
		"it holds the list [%s] at epoch %d, which is neither the old list nor this change: stop the replicas that use it and delete its keys of this namespace, or list another node", v.record.names, v.record.epoch)
}

// fits reports whether the node of the new list is, or can become, a member.
func (s *survey) fits(v view) bool { return v.blank() || s.opened(v) || s.inOld(v) }

// clocks returns refusals for nodes so far behind the old list's clocks that OPEN may
// fail. It fails at half a grace.
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
			errs = append(errs, v.node.refuse("its clock is %v behind that of %s: correct the clocks first", behind.Round(1e8), latest.node.name))
		}
	}
	return errs
}

// closable returns locking.ErrNoQuorum if too few nodes of the old list can be sealed.
func (s *survey) closable() error {
	n := s.closed()
	var others []error
	for _, v := range s.from {
		switch {
		case !v.ours() || s.isClosed(v):
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
func (s *survey) closes(n int, others, errs []error) error {
	switch {
	case n >= s.old.Quorum() || s.proven:
		return nil
	case len(others) > 0:
		return join(others...)
	}
	return s.old.noQuorum(n, s.old.Quorum(), errs)
}

// openable returns locking.ErrNoQuorum if too few nodes of the new list can be opened.
func (s *survey) openable() error {
	n := len(nodesOf(s.to, s.fits))
	if n >= s.new.Quorum() {
		return nil
	}
	return s.new.noQuorum(n, s.new.Quorum(), append(failures(s.to),
		errors.New("that many nodes of the new list must answer, to be opened: start the missing ones")))
}

// overlap reports whether a node is in both lists. Such a node refuses replicas that
// start too early with the new list.
func (s *survey) overlap() bool {
	names := s.new.Names()
	return slices.ContainsFunc(s.old.Names(), func(name string) bool { return slices.Contains(names, name) })
}

// target identifies what the nodes of the old list are sealed for.
func (s *survey) target() string {
	return fmt.Sprintf("%s:%d", s.new.hash, s.epoch)
}

// opened reports whether this change has opened the node of the new list.
func (s *survey) opened(v view) bool {
	return v.listed() && v.record.epoch == s.epoch && v.record.sealedAt != 0
}

// inOld reports whether the node of the new list is still a member of the old one.
func (s *survey) inOld(v view) bool {
	return v.reply.Err == nil && v.record.members == s.old.hash && v.record.epoch == s.epoch-1
}

// closed counts the nodes of the old list that grant nothing any more: sealed for this
// change, or opened by it.
func (s *survey) closed() int {
	return len(nodesOf(s.from, s.isClosed))
}

func (s *survey) isClosed(v view) bool {
	opened := v.reply.Err == nil && v.record.members == s.new.hash && v.record.epoch == s.epoch
	return opened || v.ours() && v.record.sealedFor == s.target()
}

// sealedForOther says how to end another change: only by finishing it, since anyone who
// saw its seals may still open its list.
func sealedForOther(n *Node, names string) error {
	return n.refuse(
		"it is sealed for a change to the list [%s]: finish that one first (quorate nodes change --to its file; where a node of that list is gone for good, give its name the URL of an empty one), then change from there", names)
}

func (s *survey) announceSeals(say func(string, ...any)) {
	for _, v := range s.from {
		switch {
		case s.isClosed(v):
			say("%s: is sealed or opened already", v.node.name)
		case v.ours():
			say("%s: would be sealed", v.node.name)
		default:
			say("%s: cannot be sealed: %s", v.node.name, v.why())
		}
	}
}

func (s *survey) announceOpens(say func(string, ...any)) {
	for _, v := range s.to {
		switch {
		case s.opened(v):
			say("%s: is opened already", v.node.name)
		case s.inOld(v):
			say("%s: would be opened with epoch %d, and keep its claims", v.node.name, s.epoch)
		case v.blank():
			say("%s: would be opened with epoch %d, as a new node", v.node.name, s.epoch)
		default:
			say("%s: cannot be opened: %s", v.node.name, v.why())
		}
	}
}

// why describes what prevents the change at the node.
func (v view) why() string {
	if v.reply.Err != nil {
		return v.reply.Err.Error()
	}
	return "it holds the list [" + v.record.names + "]"
}

// sealAll seals every node of the old list that it can, and returns the latest clock
// reading of the seals. What the old list granted is at most half a grace later. It
// succeeds when a quorum is sealed.
func (s *survey) sealAll(ctx context.Context, say func(string, ...any)) (sealedAt int64, err error) {
	replies := each(s.old.nodes, func(n *Node) Reply {
		return n.run(ctx, s.old.rules.seal, s.target(), s.new.list)
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
		case s.isClosed(v) && v.record.members == s.new.hash:
			closed++
			sealedAt = max(sealedAt, v.record.sealedAt)
			say("%s: was opened before", n.name)
		case r.Code == "OTHER":
			others = append(others, sealedForOther(n, r.Arg(0)))
			say("%s: not sealed: it is sealed for the list [%s]", n.name, r.Arg(0))
		default:
			say("%s: not sealed: %s", n.name, withoutNode(n.name, r.Err))
			errs = append(errs, locking.NodeError{Node: n.name, Err: r.Err})
		}
	}
	again := errors.New("run the same change again when the others answer; until then nothing runs where a quorum is sealed")
	if err := s.closes(closed, others, append(errs, again)); err != nil {
		return 0, err
	}
	if closed >= s.old.Quorum() {
		say("the old list grants nothing any more: %d of its %d nodes are sealed", closed, s.old.Len())
	} else {
		say("the old list grants nothing any more: nodes of the new one were opened before")
	}
	return sealedAt, nil
}

// openAll makes members of all nodes of the new list that can be. The caller must have
// seen a quorum of the old list sealed. It succeeds when a quorum is open.
func (s *survey) openAll(ctx context.Context, sealedAt int64, say func(string, ...any)) error {
	replies := each(s.new.nodes, func(n *Node) Reply {
		return n.run(ctx, s.new.rules.open, s.new.list, sealedAt, s.old.hash)
	})
	open, errs := 0, []error(nil)
	for i, r := range replies {
		n := s.new.nodes[i]
		if r.Err != nil {
			say("%s: not opened: %s", n.name, withoutNode(n.name, r.Err))
			errs = append(errs, locking.NodeError{Node: n.name, Err: r.Err})
			continue
		}
		open++
		how := "opened"
		if r.Code == "HELD" {
			how = "was opened before"
		}
		say("%s: %s, epoch %d; it vouches from %s", n.name, how, s.epoch, n.current().vouches().UTC().Format(time.RFC3339))
	}
	if open < s.new.Quorum() {
		return s.new.noQuorum(open, s.new.Quorum(), append(errs, errors.New("nothing runs until then: run the same change again when they answer")))
	}
	say("the new list is open: %d of its %d nodes", open, s.new.Len())
	return nil
}

// withoutNode returns the text of err without the leading name of the node.
func withoutNode(node string, err error) string {
	return strings.TrimPrefix(err.Error(), node+": ")
}
