package finish_test

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestForeignStore gives Finish a transaction in the database of another store, which has the
// schema and a job of the name. Whatever its tokens, that is not a stale write, and no run of that
// store ends.
func TestForeignStore(t *testing.T) {
	t.Parallel()
	const another = "another"
	w := newWorld(t)
	if _, err := w.pool(t, w.URL()).Exec(t.Context(), "CREATE DATABASE "+another); err != nil {
		t.Fatal(err)
	}
	foreign := &world{Server: w.Server, database: another, times: w.times}
	for _, order := range []string{"smaller", "larger", "equal", "none"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			own := w.rig(t)
			there := foreign.rigIn(t, own.schema)
			var its *finishtest.Case
			if order == "smaller" {
				its = there.newCase(finishtest.Calm)
			}
			c := own.newCase(finishtest.Calm)
			if order == "larger" || order == "equal" {
				its = there.newCase(finishtest.Calm)
			}
			if order == "equal" {
				there.setToken(uint64(its.Lease.Claim().Token), uint64(c.Lease.Claim().Token))
			}
			var stale []string
			ctx, run := c.Prepared(c.Lease)
			ctx = fence.WithObserver(ctx, func(e *fence.StaleError) { stale = append(stale, e.Error()) })
			tx, err := w.pool(t, pgtest.URL(w.Addr(), url.User("app"), another)).Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			err = sqlfence.Finish(ctx, tx.Exec, run)
			_ = tx.Rollback(ctx)
			if !errors.Is(err, sqlfence.ErrNoClaim) || errors.Is(err, fence.ErrStale) || len(stale) > 0 {
				t.Errorf("Finish = %v, and observers heard %v; want %v", err, stale, sqlfence.ErrNoClaim)
			}
			if its != nil {
				its.Wants(ledger.Running, 0)
			}
			c.MustEnd(c.Lease)
		})
	}
}

// setToken replaces a token in all records of the job.
func (r *rig) setToken(old, now uint64) {
	r.Helper()
	const statement = "UPDATE {schema}.records SET value = replace(value::text, $1, $2)::json, sub = replace(sub, $3, $4) WHERE name = 'job'"
	_, err := r.world.pool(r.T, r.world.url()).Exec(r.Context(), r.text(statement),
		fmt.Sprint(old), fmt.Sprint(now), fmt.Sprintf("%016x", old), fmt.Sprintf("%016x", now))
	if err != nil {
		r.Fatal(err)
	}
}

// A claim that another one has excluded is stale although the ledger has dropped its run.
func TestStaleWithoutItsEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.rig(t)
	c := r.newCase(finishtest.Times.TTL)
	c.Expire()
	next := c.MustClaim(1, false)
	if _, err := w.pool(t, w.URL()).Exec(t.Context(), r.text("DELETE FROM {schema}.records WHERE kind = 'entry'")); err != nil {
		t.Fatal(err)
	}
	err := c.End(c.Begin(), c.Lease)
	if stale, _ := errors.AsType[*fence.StaleError](err); stale == nil || stale.Seen != next.Claim().Token || stale.Resource != "job" {
		t.Errorf("Finish = %v, want a stale token that has seen %d", err, next.Claim().Token)
	}
}
