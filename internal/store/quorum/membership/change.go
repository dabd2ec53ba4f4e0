package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	if old.members.hash == next.members.hash {
		return fmt.Errorf("both lists name the same nodes [%s]: there is nothing to change (another URL for the same name needs no change)",
			strings.ReplaceAll(old.members.names, " ", ", "))
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
