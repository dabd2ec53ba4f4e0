// Package cluster is the cluster as commands see it: its [view.Service], directly on the store
// that [Open] opens, or over the API of a replica, see [NewServer]. The two differ:
//
//	                 store                             server
//	every command    by --as or user@host              by the user of the token
//	pause, release   need a reason                     every command needs a reason
//	ticks, runs      of all jobs: limits each job,     limits all jobs, and computes
//	                 and computes ticks                ticks for one job only
//	logs             the last run, or by id or tick    a run by its id
//	trigger          checks params by this binary      checks params by that replica
//	store check      looks from this machine, and      looks from where it runs
//	                 says when to restart a node
//	jobs forget      yes                               no
//	store init       yes                               no
//	store migrate    yes                               no
//	nodes change     yes                               no
package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Cluster is what the command line works on.
type Cluster struct {
	view.Service
	Name string // for people
	// NeedsReason: it refuses commands without a reason.
	NeedsReason bool
}

// Requested says which run was requested, with the job's name as the user gave it.
func Requested(requested view.Command, job string) string {
	return job + ": requested run " + RunID(requested, job)
}

// Switched says what was paused or resumed.
func Switched(done view.PauseResult) string {
	until := ""
	if done.Command.Until != nil {
		until = " until " + *done.Command.Until
	}
	return fmt.Sprintf("%s: %sd by %s%s; replicas follow within two seconds", done.Command.Target(), done.Command.Kind, view.Text(done.Command.By), until)
}

// Collect reads pages until there are so many rows; 0: all.
func Collect[R any](limit int, read func(after string) (view.Page[R], error)) ([]R, error) {
	all := []R{}
	for after := ""; ; {
		p, err := read(after)
		if err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		if p.Next == nil || limit > 0 && len(all) >= limit {
			return all, nil
		}
		after = *p.Next
	}
}

// Entries reads pages of ticks or runs until there are as many rows as q limits.
func Entries[R any](ctx context.Context, q view.EntryQuery, read func(context.Context, view.EntryQuery) (view.Page[R], error)) ([]R, error) {
	return Collect(q.Limit, func(after string) (p view.Page[R], err error) {
		if q.After, err = view.ParseCursor(after); err != nil {
			return p, err
		}
		return read(ctx, q)
	})
}

// Audited reads pages of the audit log, at most as many rows as q limits.
func (c Cluster) Audited(ctx context.Context, q view.AuditQuery) ([]view.Command, error) {
	rows, err := Collect(q.Limit, func(after string) (view.Page[view.Command], error) {
		q.After = after
		return c.Audit(ctx, q)
	})
	return rows[:min(len(rows), q.Limit)], err
}

// Polling intervals of Wait.
const (
	waitEvery  = 500 * time.Millisecond
	auditEvery = 5 * time.Second
)

// Wait returns the requested run of a job once it has ended, with an error unless it succeeded. It
// keeps the job's name as the user gave it.
func (c Cluster) Wait(ctx context.Context, requested view.Command, job string) (*view.Run, error) {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	audited := time.Now()
	closed := ""
	for {
		list, err := c.Attempts(ctx, view.Text(requested.Run))
		switch {
		case err == nil && len(list) == 0:
			return nil, fmt.Errorf("the cluster accepted run %s but does not know it", view.Text(requested.Run))
		case err == nil && list[0].Outcome != ledger.Running:
			row := list[0].Run
			if row.Job = job; row.Outcome != ledger.Succeeded {
				return &row, fmt.Errorf("run %s ended as %s", RunID(requested, job), row.Outcome)
			}
			return &row, nil
		case err == nil:
		case !errors.Is(err, view.ErrNotFound) && !errors.Is(err, locking.ErrNoQuorum):
			return nil, err
		case closed != "": // when it was closed there was no run
			return nil, fmt.Errorf("%s did not run: %s", job, closed)
		case time.Since(audited) > auditEvery:
			audited = time.Now()
			if closed, err = c.closed(ctx, requested); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
				return nil, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("stopped waiting; the run is still requested: %w", context.Cause(ctx))
		}
	}
}

// closed returns the result of a request that was closed, for a run or without one; "" if it is open.
func (c Cluster) closed(ctx context.Context, requested view.Command) (string, error) {
	p, err := c.Audit(ctx, view.AuditQuery{Limit: commands.KeepAudit, Since: view.Time(&requested.At), Job: view.Text(requested.Job), Kinds: []commands.Kind{commands.Trigger}})
	for _, command := range p.Items {
		if command.ID == requested.ID && command.Closed != nil {
			return view.Text(command.Result), nil
		}
	}
	return "", err
}

// RunID is the ID of a requested run, with the job's name as the user gave it.
func RunID(requested view.Command, job string) string {
	_, rest, _ := strings.Cut(view.Text(requested.Run), "@")
	return job + "@" + rest
}
