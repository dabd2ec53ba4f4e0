package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// levels are the isolation levels at which Finish works.
var levels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}

// TestFinish holds Finish to the rules, at both isolation levels.
func TestFinish(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	kinds := map[string]func(*testing.T) finishtest.Place{}
	for _, level := range levels {
		kinds[level.String()] = func(t *testing.T) finishtest.Place { t.Helper(); return w.rig(t).place(level, nil) }
	}
	finishtest.Rules(t, kinds)
}

// othersGoOn runs jobs whose keys are beside those of the job, new ones and known ones, and asks for one.
func (r *finishRig) othersGoOn(c *finishtest.Case) {
	r.Helper()
	for _, job := range []string{"a", "joa", "job ", "job!", "job0", "jobs", "next", "z", "job\xc3\xa4"} {
		for n := range 2 {
			l, err := finishtest.Patiently(func() (locking.Lease, error) { return c.Claim(job, n, false) })
			if err == nil {
				err = l.Extend(c.Context())
			}
			if err == nil {
				err = l.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded}))
			}
			if err != nil {
				c.Errorf("%q while the transaction of job is open: %v", job, err)
			}
		}
	}
	if _, err := c.Cluster.Commands.Do(c.Context(), commands.Command{ID: "0", Kind: commands.Trigger, Job: "other"}); err != nil {
		c.Errorf("a request: %v", err)
	}
	other := r.begin(sql.LevelDefault)
	if _, err := Trigger(c.Context(), other, r.database, commands.Command{ID: "b", Job: "rolled back"}); err != nil {
		c.Errorf("a request of another transaction: %v", err)
	}
	_ = other.Rollback()
	if open := finishtest.Requests(c.T, c.Cluster); len(open) != 1 {
		c.Errorf("requested are %+v", open)
	}
}

// Each job that follows is asked for once, however often the requests are read, or made again.
func TestFollowersAreAskedForOnce(t *testing.T) {
	t.Parallel()
	c := newFinishWorld(t).rig(t).newCase()
	for n := range 5 {
		c.Followers = append(c.Followers, fmt.Sprint("f", n))
	}
	c.MustEnd(c.Lease)
	for range 3 {
		if open := finishtest.Requests(c.T, c.Cluster); len(open) != 5 {
			t.Errorf("requested are %+v, want five", open)
		}
	}
	for _, job := range c.Followers {
		if err := c.Cluster.Commands.Close(t.Context(), finishtest.Follows(job), "done"); err != nil {
			t.Fatal(err)
		}
	}
	c.MustEnd(c.MustClaim(1, false)) // with requests that have the same IDs
	if open := finishtest.Requests(c.T, c.Cluster); len(open) > 0 {
		t.Errorf("requested again are %+v", open)
	}
	if n, err := c.Cluster.Commands.Queued(t.Context()); err != nil || n > 0 {
		t.Errorf("%d requests are queued, %v", n, err)
	}
}

// A claim has an owner.
func TestNobodyEndsNothing(t *testing.T) {
	t.Parallel()
	c := newFinishWorld(t).rig(t).newCase()
	c.Change = func(e *finishtx.End) { e.Owner = "" }
	if err := c.End(c.Begin(), c.Lease); !errors.Is(err, finishtx.ErrNoClaim) {
		t.Errorf("without an owner: %v", err)
	}
	c.Wants(ledger.Running, 0)
}

// engineCases are those of a driver that leaves transactions open after an error.
func engineCases() map[string]finishtest.EngineCase {
	return map[string]finishtest.EngineCase{
		"error ignored": {Then: func(_ *finishtest.Engine, ctx context.Context, run jobs.Run, tx finishtest.Tx) error {
			if err := tx.Finish(ctx, run); !errors.Is(err, sqlfence.ErrEnded) {
				return fmt.Errorf("the second Finish = %w", err)
			}
			return tx.Commit(ctx)
		}, Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1},
		"triggers too": {Then: func(_ *finishtest.Engine, ctx context.Context, _ jobs.Run, tx finishtest.Tx) error {
			return errors.Join(triggersInRun(ctx, tx), tx.Commit(ctx))
		}, Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 2},
		"triggers, rolled back once": {Then: finishtest.FirstCall(func(_ *finishtest.Engine, ctx context.Context, tx finishtest.Tx) error {
			return errors.Join(triggersInRun(ctx, tx), tx.Rollback(ctx), finishtest.ErrOwn)
		}), Outcome: ledger.Succeeded, Calls: 2, Effects: 1, Next: 1},
	}
}

// triggersInRun asks for next. In the function of a job, the store is that of the run.
func triggersInRun(ctx context.Context, tx finishtest.Tx) error {
	app := tx.(appTx).Tx //nolint:forcetypeassert // place makes such
	if _, err := Trigger(ctx, app, "another", commands.Command{Job: "next"}); !errors.As(err, new(*commands.Error)) {
		return fmt.Errorf("of another database: %w", err)
	}
	id, err := Trigger(ctx, app, "", commands.Command{ID: "chosen", Job: "next"})
	if err == nil && id != "chosen" {
		err = fmt.Errorf("the ID is %q", id)
	}
	return err
}

// killed ends the connection of the transaction at the server.
func (r *finishRig) killed(ctx context.Context, tx finishtest.Tx) error {
	var id int64
	if err := tx.(appTx).QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil { //nolint:forcetypeassert // place makes such
		return err
	}
	r.world.Exec(r.T, fmt.Sprint("KILL ", id))
	return tx.Commit(ctx)
}

// TestFinishEngine shows what the engine makes of transactions that end runs.
func TestFinishEngine(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	cases := finishtest.EngineCases()
	maps.Copy(cases, engineCases())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finishtest.RunEngine(t, w.rig(t).place(sql.LevelDefault, nil), c)
		})
	}
	t.Run("connection killed", func(t *testing.T) {
		t.Parallel()
		r := w.rig(t)
		finishtest.RunEngine(t, r.place(sql.LevelDefault, nil), finishtest.EngineCase{Then: finishtest.FirstCall(func(_ *finishtest.Engine, ctx context.Context, tx finishtest.Tx) error {
			return r.killed(ctx, tx)
		}), Outcome: ledger.Succeeded, Calls: 2, Effects: 1, Next: 1})
	})
}
