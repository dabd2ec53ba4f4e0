package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/cells"
	"github.com/quorate/quorate/scheduler/replica"
)

// A cluster is what listings look at: the nodes themselves, without a replica.
type cluster struct {
	*replica.Cluster
	ledger kept
	acts   openActs
	// lacking is what was left out of the answers.
	lacking *gap
}

// kept is what the nodes keep of jobs and replicas.
type kept struct {
	cells.Store
	roster
}

// withCluster opens the nodes that the configuration names, which needs only
// its namespace and redis parts, and hands them to fn. Where some cells do not
// answer, it sees what the others say; listings of everything end with
// cluster.lacking.
func (a App) withCluster(ctx context.Context, f *flags, fn func(cluster) error) error {
	config, err := replica.ReadCluster(f.source())
	if err != nil {
		return err
	}
	c, err := replica.OpenCluster(config)
	if err != nil {
		return err
	}
	c.Learn(ctx) // requests name the epoch of the list
	lacking := &gap{}
	return errors.Join(fn(cluster{
		Cluster: c, ledger: kept{c.Ledger, roster{c.Roster, lacking}}, acts: openActs{c.Acts, lacking}, lacking: lacking,
	}), c.Close())
}

// A gap is what was left out of the answers so far, for want of a cell.
type gap struct{ err error }

// note keeps an error that came with a part of an answer, and returns any other.
func (g *gap) note(err error) error {
	if _, partial := errors.AsType[*scheduler.PartialError](err); !partial {
		return err
	}
	g.err = err
	return nil
}

// require returns the gap if it may hide the job with the key.
func (g *gap) require(key string) error {
	if partial, ok := errors.AsType[*scheduler.PartialError](g.err); ok && partial.Lacks(key) {
		return partial
	}
	return nil
}

// roster is one whose lists may have gaps.
type roster struct {
	scheduler.Roster
	gap *gap
}

// Replicas implements scheduler.Roster.
func (r roster) Replicas(ctx context.Context) ([]scheduler.Replica, error) {
	list, err := r.Roster.Replicas(ctx)
	return list, r.gap.note(err)
}

// Jobs implements scheduler.Roster.
func (r roster) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	list, err := r.Roster.Jobs(ctx)
	return list, r.gap.note(err)
}

// openActs are acts whose lists may have gaps.
type openActs struct {
	scheduler.Acts
	gap *gap
}

// Open implements scheduler.Acts.
func (a openActs) Open(ctx context.Context) (scheduler.OpenActs, error) {
	open, err := a.Acts.Open(ctx)
	return open, a.gap.note(err)
}

// Audit implements scheduler.Acts.
func (a openActs) Audit(ctx context.Context, limit int) ([]scheduler.Act, error) {
	list, err := a.Acts.Audit(ctx, limit)
	return list, a.gap.note(err)
}

// inCells does f for the nodes of each cell in turn, and puts the name of the
// cell before its errors.
func (c cluster) inCells(f func(*nodes.Set) error) error {
	var errs []error
	for _, s := range c.Sets {
		errs = append(errs, inCell(s, f(s)))
	}
	return errors.Join(errs...)
}

// cellOf is the name of the cell that decides on a name, nil if there is one group
// of nodes.
func (c cluster) cellOf(name string) *string { return optional(c.Of(name).Cell()) }

// inCell puts the name of the cell, if it has one, before an error of its nodes.
func inCell(s cellSet, err error) error {
	if err == nil || s.Cell() == "" {
		return err
	}
	return fmt.Errorf("cell %s: %w", s.Cell(), err)
}

// cellColumn adds a column with the cell of each row, if one has a cell.
func cellColumn[R any](l listing[R], cell func(R) *string) listing[R] {
	if !slices.ContainsFunc(l.rows, func(r R) bool { return cell(r) != nil }) {
		return l
	}
	rest := l.cells
	l.columns = append([]string{"CELL"}, l.columns...)
	l.cells = func(r R) []string { return append([]string{dash(cell(r))}, rest(r)...) }
	return l
}
