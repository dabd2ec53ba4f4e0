package nodes

import (
	"context"
	"errors"
	"fmt"
)

// A Change moves a cluster from one list of nodes to another: a quorum of the
// old list is sealed for the new one, from when on the old list grants nothing,
// and then the new list is opened, with the next epoch. Its nodes abstain for
// one grace, and the replicas must be restarted with the new list.
//
// It can be cut off at any point and run again, from anywhere, until it is
// through; while a quorum is sealed and none is open, nothing runs.
type Change struct {
	// From and To are the configurations with the old and the new list. They
	// must agree in namespace and grace.
	From, To Config
	// DryRun looks at the nodes and says what would be done.
	DryRun bool
	// Progress, if not nil, is told of each step, in order.
	Progress func(text string)
}

// Run changes the list. It returns an error matching locking.ErrRefused if one of
// the nodes forbids the change, before the first one is sealed if it can be
// known then, and one matching locking.ErrNoQuorum if too few nodes could be
// sealed or opened: run it again when more of them answer. It returns nil when a
// quorum of the new list is open. What did not answer may be sealed and opened
// later, by running it again; blank nodes are formatted by the replicas.
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
	if err := successive(old, next); err != nil {
		return err
	}
	s, err := look(ctx, old, next)
	if err != nil {
		return err
	}
	if !s.overlap() {
		c.say("no node is in both lists: start no replica with the new one before this has gone through, since to new nodes alone it looks like a new cluster")
	}
	if c.DryRun {
		s.announce(c.say)
		return nil
	}
	sealedAt, err := s.sealAll(ctx, c.say)
	if err != nil {
		return err
	}
	return s.openAll(ctx, sealedAt, c.say)
}

func (c Change) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// announce says what a change would do to each node.
func (s *survey) announce(say func(string, ...any)) {
	s.announceSeals(say)
	s.announceOpens(say)
}

func (s *survey) announceSeals(say func(string, ...any)) {
	for _, v := range s.from {
		switch {
		case s.shut(v):
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

// why says in a word what stands between the node and the change.
func (v view) why() string {
	if v.reply.Err != nil {
		return v.reply.Err.Error()
	}
	return "it holds the list [" + listText(v.held.names) + "]"
}
