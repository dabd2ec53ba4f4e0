package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

// A cluster is what listings look at: the nodes themselves, without a replica. Where
// some cells do not answer, it shows what the others say.
type cluster struct {
	*replica.Cluster
	listing.Control
}

// withCluster opens the nodes that the configuration names, which needs only
// its namespace and redis parts, and hands them to fn.
func (a App) withCluster(ctx context.Context, f *flags, fn func(cluster) error) error {
	if err := f.noServer(); err != nil {
		return err
	}
	config, err := replica.ReadCluster(f.source())
	if err != nil {
		return err
	}
	c, err := replica.OpenCluster(config)
	if err != nil {
		return err
	}
	c.Learn(ctx) // requests name the epoch of the list
	control := c.Control()
	control.Served = a.served(f)
	own := control.CheckParams
	control.CheckParams = func(job scheduler.JobInfo, params json.RawMessage) error {
		config, err := replica.Read(f.source(), nil)
		if err != nil {
			return own(job, params) // of use for nodes alone
		}
		return config.CheckParams(a.Registry, job, params)
	}
	return errors.Join(fn(cluster{c, control}), c.Close())
}

// noServer refuses --server for what the API does not do.
func (f *flags) noServer() error {
	if f.server == "" {
		return nil
	}
	return usageError{errors.New("the API does not do this, it needs the nodes themselves: leave out --server, and name them with --config")}
}

// served returns the schedules of the configuration at hand: it knows a job as it
// was published if it has this version of the job; of any other it is not known
// what it says.
func (a App) served(f *flags) func(scheduler.JobInfo) (scheduler.Schedule, bool) {
	return func(last scheduler.JobInfo) (scheduler.Schedule, bool) {
		config, err := replica.Read(f.source(), nil)
		if err != nil {
			return nil, false // of use for nodes alone
		}
		list, err := config.JobList(nil)
		i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == last.Name && j.Hash == last.Hash && last.Hash != "" })
		if err != nil || i < 0 {
			return nil, false
		}
		return list[i].Schedule, true
	}
}

// inCells does f for the nodes of each cell in turn, and puts the name of the
// cell before its errors.
func (c cluster) inCells(f func(*nodes.Set) error) error {
	var errs []error
	for _, s := range c.Sets {
		errs = append(errs, inCell(s.Cell(), f(s)))
	}
	return errors.Join(errs...)
}

// inCell puts the name of the cell, if it has one, before an error of its nodes.
func inCell(name string, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("cell %s: %w", name, err)
}

// cellColumn adds a column with the cell of each row, if one has a cell.
func cellColumn[R any](l table[R], cell func(R) *string) table[R] {
	if !slices.ContainsFunc(l.rows, func(r R) bool { return cell(r) != nil }) {
		return l
	}
	rest := l.cells
	l.columns = append([]string{"CELL"}, l.columns...)
	l.cells = func(r R) []string { return append([]string{dash(cell(r))}, rest(r)...) }
	return l
}
