package members

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Change moves a cluster from one list of nodes to another. First a quorum of the old
// list is sealed for the new one, so the old list grants nothing any more. Then the new
// list is opened with the next epoch. Its nodes abstain for one grace, and replicas
// must be restarted with the new list. If the cells keep their names, those with
// different lists are changed one after the other.
//
// A change of the cells' layout moves jobs to other cells, but not their data. So a
// quorum of every old cell is sealed before the first new one is opened. The opened
// nodes abstain from all ticks up to the latest of the seals, so nothing is granted
// twice. A new cell may contain nodes of the old cell of the same name, or else of the
// first one by name. All its other nodes must be blank.
//
// A Change can be interrupted at any point and run again, from anywhere. While a quorum
// is sealed and none is open, nothing runs.
type Change struct {
	// From and To are the configurations of the old and new cells, or of one group.
	// They must have the same namespace and grace.
	From, To []Config
	// DryRun only says what would be done.
	DryRun bool
	// Progress, if not nil, is called for each step, in order.
	Progress func(text string)
}

// Run makes the change. It returns nil when a quorum of each new list is open. The
// error matches locking.ErrRefused if a node forbids the change; if possible that is
// found before the first node is sealed. It matches locking.ErrNoQuorum if too few
// nodes could be sealed or opened: run the change again when more of them answer. Run
// it again also to seal and open nodes that did not answer. Replicas format blank
// nodes.
func (c Change) Run(ctx context.Context) (err error) {
	old, err := openAlone(c.From)
	if err != nil {
		return fmt.Errorf("old list: %w", err)
	}
	defer func() { err = errors.Join(err, closeAll(old)) }()
	next, err := openAlone(c.To)
	if err != nil {
		return fmt.Errorf("new list: %w", err)
	}
	defer func() { err = errors.Join(err, closeAll(next)) }()
	if err := sameCluster(old[0], next[0]); err != nil {
		return err
	}
	if !slices.EqualFunc(old, next, func(a, b *Set) bool { return a.Cell() == b.Cell() }) {
		return c.change(ctx, old, next, planHash(next))
	}
	var same []string
	for i, o := range old {
		if o.members.hash == next[i].members.hash {
			same = append(same, listText(o.members.names))
		} else if err := c.change(ctx, old[i:i+1], next[i:i+1], ""); err != nil {
			return err
		}
	}
	if len(same) == len(old) {
		return fmt.Errorf("both lists name the same nodes [%s]: there is nothing to change (another URL for the same name needs no change)",
			strings.ReplaceAll(strings.Join(same, " "), " ", ", "))
	}
	return nil
}

// openAlone opens Sets without links between cells.
func openAlone(list []Config) ([]*Set, error) {
	sets, err := OpenCells(list)
	for _, s := range sets {
		s.others = nil
	}
	return sets, err
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

// planHash identifies all new lists together.
func planHash(sets []*Set) string {
	h := sha256.New()
	for _, s := range sets {
		_, _ = h.Write([]byte(s.members.hash)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// change seals all old lists, and then opens all new ones. Plan is empty unless the
// layout changes.
func (c Change) change(ctx context.Context, old, next []*Set, plan string) error {
	seals, opens, err := look(ctx, old, next, plan)
	if err != nil {
		return err
	}
	if plan == "" && !opens[0].overlap() {
		c.printf("no node is in both lists: start no replica with the new list before this change is done, since new nodes alone look like a new cluster")
	}
	if c.DryRun {
		for _, s := range seals {
			s.announceSeals(c.printf)
		}
		for _, s := range opens {
			s.announceOpens(c.printf)
		}
		return nil
	}
	var sealedAt int64
	for _, s := range seals { // in a fixed order: of two concurrent changes one gets all seals
		at, err := s.sealAll(ctx, c.printf)
		if err != nil {
			return inCell(s.old, err)
		}
		sealedAt = max(sealedAt, at)
	}
	for _, s := range opens {
		for _, v := range s.to {
			if s.opened(v) {
				sealedAt = max(sealedAt, v.held.sealedAt)
			}
		}
	}
	var errs []error
	for _, s := range opens {
		errs = append(errs, inCell(s.new, s.openAll(ctx, sealedAt, c.printf)))
	}
	return join(errs...)
}

func (c Change) printf(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// look examines all nodes, and refuses a change that cannot succeed before the first
// node is sealed. It returns a survey for each old list, to seal it, and for each new
// list, to open it.
func look(ctx context.Context, old, next []*Set, plan string) (seals, opens []*survey, err error) {
	views := map[*Set][]view{}
	for _, s := range slices.Concat(old, next) {
		views[s] = s.examine(ctx).views
	}
	proven := false
	for _, n := range next {
		s := &survey{old: namesake(n, old), new: n, plan: plan}
		s.from, s.to, s.epoch = views[s.old], views[n], max(s.old.Epoch()+1, n.Epoch())
		n.era.set(s.epoch)
		proven = proven || slices.ContainsFunc(s.to, s.opened)
		opens = append(opens, s)
	}
	if plan == "" {
		old[0].era.set(opens[0].epoch - 1)
		seals = opens
	} else {
		for _, o := range old {
			s := &survey{old: o, new: namesake(o, next), plan: plan, epoch: o.Epoch() + 1}
			s.from, s.to = views[o], views[s.new]
			o.era.set(o.Epoch())
			seals = append(seals, s)
		}
	}
	var refused, missing []error
	for _, s := range seals {
		s.proven = proven
		missing = append(missing, inCell(s.old, s.closable()))
	}
	for _, s := range opens {
		s.proven = proven
		refused = append(refused, inCell(s.new, s.judge()))
		missing = append(missing, inCell(s.new, s.openable()))
	}
	if err := join(refused...); err != nil {
		return nil, nil, err
	}
	return seals, opens, join(missing...)
}

// namesake returns the cell with the same name as s, else the first one.
func namesake(s *Set, among []*Set) *Set {
	i := slices.IndexFunc(among, func(o *Set) bool { return o.Cell() == s.Cell() })
	return among[max(i, 0)]
}

// inCell adds the name of the cell to its error.
func inCell(s *Set, err error) error {
	if err == nil || s.Cell() == "" {
		return err
	}
	return fmt.Errorf("cell %s: %w", s.Cell(), err)
}
