package finish_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

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
			c := &caser{rig: own, driver: inPgx, level: "read committed", base: time.Now().Add(-time.Minute).Truncate(time.Second)}
			its := &caser{rig: there, base: c.base}
			switch order {
			case "smaller":
				its.lease = its.mustClaim(0, false)
				c.lease = c.mustClaim(0, false)
			case "larger", "equal":
				c.lease = c.mustClaim(0, false)
				its.lease = its.mustClaim(0, false)
			case "none":
				c.lease = c.mustClaim(0, false)
			}
			if order == "equal" {
				there.setToken(uint64(its.lease.Claim().Token), uint64(c.lease.Claim().Token))
			}
			var stale []string
			ctx, run := c.prepared(c.lease)
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
			if running := []ledger.Outcome{ledger.Running}; order != "none" && !slices.Equal(outcomes(there.entries("job")), running) {
				t.Errorf("the other store has %+v", there.entries("job"))
			}
			if err := c.end(c.begin(), c.lease); err != nil {
				t.Errorf("in its own database: %v", err)
			}
		})
	}
}

func outcomes(list []ledger.Entry) (all []ledger.Outcome) {
	for _, e := range list {
		all = append(all, e.Outcome)
	}
	return all
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
	c := &caser{rig: w.rig(t), driver: inPgx, level: "read committed", base: time.Now().Add(-time.Minute).Truncate(time.Second)}
	c.lease = c.mustClaim(0, false)
	c.expire()
	next := c.mustClaim(1, false)
	if _, err := w.pool(t, w.URL()).Exec(t.Context(), c.rig.text("DELETE FROM {schema}.records WHERE kind = 'entry'")); err != nil {
		t.Fatal(err)
	}
	err := c.end(c.begin(), c.lease)
	if stale, _ := errors.AsType[*fence.StaleError](err); stale == nil || stale.Seen != next.Claim().Token || stale.Resource != "job" {
		t.Errorf("Finish = %v, want a stale token that has seen %d", err, next.Claim().Token)
	}
}
