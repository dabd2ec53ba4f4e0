package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A LayoutChange moves a cluster from one layout of cells to another, or from one
// group of nodes to several, or back. Where the cells are called the same, only
// those whose list differs are changed, one after the other, as by Change.
//
// Otherwise jobs move between cells, and what the nodes keep of them stays
// behind. So every old cell is sealed by a quorum before the first new one is
// opened: from then on nothing that was granted before can be granted again,
// since the opened nodes abstain from all ticks up to the latest of the seals.
//
// A new cell may have nodes of the old cell of the same name, else of the first
// one by name; all others must be blank.
type LayoutChange struct {
	// From and To are the configurations of the old and the new cells, or of one
	// group. They must agree in namespace and grace.
	From, To []Config
	DryRun   bool
	Progress func(text string)
}

// Run makes the change. It returns what Change.Run does, and like that it can be
// cut off at any point and run again.
func (c LayoutChange) Run(ctx context.Context) error {
	if slices.EqualFunc(c.From, c.To, func(a, b Config) bool { return a.Cell == b.Cell }) {
		return c.changeLists(ctx)
	}
	old, err := openAlone(c.From)
	if err != nil {
		return err
	}
	next, err := openAlone(c.To)
	if err != nil {
		return errors.Join(err, closeAll(old))
	}
	return errors.Join(c.relayout(ctx, old, next), closeAll(old), closeAll(next))
}

// openAlone opens Sets that know nothing of each other.
func openAlone(list []Config) ([]*Set, error) {
	sets, err := OpenCells(list)
	for _, s := range sets {
		s.others = nil
	}
	return sets, err
}

// changeLists changes the lists that differ.
func (c LayoutChange) changeLists(ctx context.Context) error {
	var same []string
	for i, from := range c.From {
		change := Change{From: from, To: c.To[i], DryRun: c.DryRun, Progress: c.Progress}
		if names, differ := differ(from, c.To[i]); len(c.From) > 1 && !differ {
			same = append(same, names)
			continue
		}
		if err := change.Run(ctx); err != nil {
			return err
		}
	}
	if len(c.From) > 1 && len(same) == len(c.From) {
		return errNothingToChange(strings.Join(same, " "))
	}
	return nil
}

// differ tells whether two configurations list nodes of other names.
func differ(a, b Config) (names string, differ bool) {
	of := func(c Config) membership {
		var names []string
		for _, n := range c.WithDefaults().Nodes {
			names = append(names, n.Name)
		}
		return newMembership(names, c.Cell, c.Cells)
	}
	m := of(a)
	return listText(m.names), m.hash != of(b).hash
}

// relayout seals all old cells, and then opens all new ones.
func (c LayoutChange) relayout(ctx context.Context, old, next []*Set) error {
	say := Change{Progress: c.Progress}.say
	seals, opens, err := lookAt(ctx, old, next)
	if err != nil {
		return err
	}
	if c.DryRun {
		for _, s := range seals {
			s.announceSeals(say)
		}
		for _, s := range opens {
			s.announceOpens(say)
		}
		return nil
	}
	var sealedAt int64
	for _, s := range seals { // in order: of two changes at once, one gets them all
		at, err := s.sealAll(ctx, say)
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
		errs = append(errs, inCell(s.new, s.openAll(ctx, sealedAt, say)))
	}
	return join(errs...)
}

// lookAt examines all nodes and refuses what cannot come to a good end. It
// returns a survey for each old cell, to seal it, and one for each new cell, to
// open it.
func lookAt(ctx context.Context, old, next []*Set) (seals, opens []*survey, err error) {
	if err := akin(old[0], next[0]); err != nil {
		return nil, nil, err
	}
	views := map[*Set][]view{}
	for _, s := range slices.Concat(old, next) {
		views[s] = s.examine(ctx)
	}
	plan, proven := planHash(next), false
	for _, n := range next {
		s := &survey{old: namesake(n, old), new: n, plan: plan}
		s.from, s.to, s.epoch = views[s.old], views[n], max(s.old.Epoch()+1, n.Epoch())
		n.era.set(s.epoch)
		proven = proven || slices.ContainsFunc(s.to, s.opened)
		opens = append(opens, s)
	}
	for _, o := range old {
		s := &survey{old: o, new: namesake(o, next), plan: plan, epoch: o.Epoch() + 1}
		s.from, s.to = views[o], views[s.new]
		o.era.fix()
		seals = append(seals, s)
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

// namesake is the cell among others that is called as s is, else the first one.
func namesake(s *Set, among []*Set) *Set {
	for _, other := range among {
		if other.cfg.Cell == s.cfg.Cell {
			return other
		}
	}
	return among[0]
}

// planHash stands for all the lists together.
func planHash(sets []*Set) string {
	h := sha256.New()
	for _, s := range sets {
		_, _ = h.Write([]byte(s.members.hash)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// inCell puts the name of a cell before its error.
func inCell(s *Set, err error) error {
	if err == nil || s.cfg.Cell == "" {
		return err
	}
	return fmt.Errorf("cell %s: %w", s.cfg.Cell, err)
}
