// Package cluster is the cluster as commands see it. A [Cluster] is either the store, a
// [Store], or the API of a replica, see [NewServer]. The two differ:
//
//	               store                             server
//	every command      by --as or user@host              by the user of the token
//	pause, release need a reason                     every command needs a reason
//	logs           the last run, or by id or tick    a run by its id
//	trigger        checks params by this binary      checks params by that replica
//	store check    looks from this machine           looks from where it runs
//	jobs forget    yes                               no
//	store init     yes                               no
//	store migrate  yes                               no
//	nodes change   yes                               no
package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Cluster answers commands. If a method returns rows and an error, rows are missing.
type Cluster interface {
	Listings
	History
	Commands
	About() About
}

// Listings have the current state.
type Listings interface {
	// Jobs lists jobs; warning says what is unknown about them.
	Jobs(context.Context) (rows []view.Job, warning string, err error)
	Replicas(context.Context) ([]view.Replica, error)
	Locks(context.Context) ([]view.Lock, error)
	Pauses(context.Context) ([]view.Command, error)
	Nodes(context.Context) ([]view.Node, error)
	Check(context.Context) (Checkup, error)
}

// History has past and next ticks. The job is a parameter, not part of the query.
type History interface {
	// Ticks lists the ticks of a job, or of all for "".
	Ticks(ctx context.Context, job string, q ledger.Query) ([]view.Tick, error)
	// Runs lists the runs of a job, or of all for "". With each, the limit applies to
	// each job, if the cluster can do that.
	Runs(ctx context.Context, job string, q ledger.Query, each bool) ([]view.Run, error)
	// Latest lists the latest ticks of all jobs; more: there are earlier ones.
	Latest(ctx context.Context, since time.Time, limit int) (rows []view.Tick, more bool, err error)
	Next(ctx context.Context, limit int) ([]view.Next, error)
	Log(ctx context.Context, job, run string, attempt int) (view.Log, error)
	Audit(context.Context, view.AuditQuery) ([]view.Command, error)
}

// Commands change the cluster. A warning says why a command may be a mistake, or what part of it
// failed.
type Commands interface {
	Trigger(context.Context, commands.Command) (Request, error)
	// PauseOrResume pauses or resumes; an id selects the pause to end.
	PauseOrResume(ctx context.Context, command commands.Command, id string) (done view.Command, warning string, err error)
	Cancel(ctx context.Context, command commands.Command, waiting bool) (view.Cancelled, error)
	// Backfill requests a backfill and returns its ticks; dry only returns them.
	Backfill(ctx context.Context, command commands.Command, dry bool) ([]time.Time, error)
	// Release takes a lock from its holder. Token 0 stands for the only holder.
	Release(ctx context.Context, command commands.Command, token uint64) (taken view.Lock, warning string, err error)
}

// About is the cluster's name, and what to do if the store does not answer.
type About struct{ Name, Remedy string }

const remedy = "Start what is down; quorate store check says what is wrong."

// A Request is a triggered run.
type Request struct {
	Run string // its ID

	// ended returns the run once it has ended, with an error unless it succeeded; else
	// nil.
	ended func(context.Context) (*view.Run, error)
}

// waitEvery is the polling interval of Wait.
const waitEvery = 500 * time.Millisecond

// Wait returns the run once it has ended, with an error unless it succeeded.
func (r Request) Wait(ctx context.Context) (*view.Run, error) {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		if row, err := r.ended(ctx); row != nil || err != nil {
			return row, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("stopped waiting; the run is still requested: %w", context.Cause(ctx))
		}
	}
}

// asEnded returns an ended run, with an error that names it unless it succeeded.
func asEnded(row view.Run, name string) (*view.Run, error) {
	if row.Outcome != ledger.Succeeded {
		return &row, fmt.Errorf("run %s ended as %s", name, row.Outcome)
	}
	return &row, nil
}

// A Checkup is the verdict on the store.
type Checkup struct {
	Rows   []view.Check
	Advice string // whether the next node may be restarted
	Silent error  // locking.ErrNoQuorum unless a quorum answers
	Unwell bool
}

// Judge returns the checkup of so many nodes.
func Judge(nodes int, c membership.Checkup) Checkup {
	judged := judgeRows(quorum.CheckRows(c))
	judged.Advice = advice(c, nodes)
	return judged
}

// judgeRows computes the checkup from its rows.
func judgeRows(rows []view.Check) Checkup {
	unwell := slices.ContainsFunc(rows, func(r view.Check) bool { return r.Verdict != "ok" })
	if len(rows) > 0 && rows[0].Kind == view.KindStore {
		one := []view.Node{{Kind: view.KindStore, State: rows[0].State}}
		return Checkup{Rows: rows, Silent: view.Quorate(one), Unwell: unwell}
	}
	c := Checkup{Rows: rows, Unwell: unwell, Advice: "no node may be restarted now: too few would vote; quorate nodes says until when"}
	nodes, answered := 0, 0
	for _, r := range rows {
		if r.Node == nil {
			continue
		}
		nodes++
		if view.Answers(r.State) {
			answered++
		}
		if r.MayRestart {
			c.Advice = advice(membership.Checkup{Next: *r.Node}, len(rows))
		}
	}
	if nodes == 1 {
		c.Advice = advice(membership.Checkup{}, 1)
	}
	c.Silent = view.QuorumOf(answered, nodes)
	return c
}

// advice says whether the next node may be restarted.
func advice(c membership.Checkup, size int) string {
	switch {
	case c.Next != "":
		return c.Next + " may be restarted now: a quorum votes without it. Then wait until every node is well"
	case !c.NextAt.IsZero():
		return "not before " + *view.Stamp(c.NextAt.Truncate(time.Second)) + ": until then too few nodes would vote"
	case size == 1:
		return "there is only one node: ticks are missed while it restarts, and for one restart_grace after"
	}
	return "no node may be restarted: too few would vote; fix the findings above first"
}
