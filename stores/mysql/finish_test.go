package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A run that Finish has ended stays so, whatever comes after.
func (c *finishCase) commits() {
	c.mustEnd(c.lease)
	c.wants(ledger.Succeeded, 1)
	for range 2 {
		if err := c.lease.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Failed})); err != nil {
			c.Errorf("Release = %v", err)
		}
	}
	c.wants(ledger.Succeeded, 1)
	if _, err := c.claim("job", 0, false); !errors.Is(err, locking.ErrDone) {
		c.Errorf("the tick again: %v", err)
	}
	if l := c.mustClaim(1, false); l.Claim().Token <= c.lease.Claim().Token {
		c.Errorf("token %d after %d", l.Claim().Token, c.lease.Claim().Token)
	}
}

// What was rolled back has changed nothing, and asked for nothing.
func (c *finishCase) rollsBack() {
	c.requests = map[string][]byte{"a": follower(c.T, "a")}
	tx := c.begin()
	if err := c.finish(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	_ = tx.Rollback()
	c.wants(ledger.Running, 0)
	if _, ended, err := c.lease.(settler).Settle(c.Context()); ended || err != nil {
		c.Errorf("Settle = %v, %v", ended, err)
	}
	if open := c.mustOpen(); len(open) > 0 {
		c.Errorf("requested are %+v", open)
	}
	if err := c.lease.Extend(c.Context()); err != nil {
		c.Errorf("Extend = %v", err)
	}
	c.mustEnd(c.lease)
	c.wants(ledger.Succeeded, 1)
	if open := c.mustOpen(); len(open) != 1 || open[0].ID != "a" || open[0].Job != "next" {
		c.Errorf("requested are %+v", open)
	}
}

// follower is a request for a job that follows, in its stored form.
func follower(t *testing.T, id string) []byte {
	t.Helper()
	ready, err := commands.Command{ID: id, Kind: commands.Trigger, Job: "next", By: "job", Trigger: ledger.ByChain, Parent: "job@x"}.Ready()
	if err != nil {
		t.Fatal(err)
	}
	text, err := ready.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mustOpen takes what is queued, and returns the open requests.
func (r *finishRig) mustOpen() []commands.Command {
	r.Helper()
	open, err := patiently(func() (commands.Open, error) { return r.cluster.Commands.Open(r.Context()) })
	if err != nil {
		r.Fatal(err)
	}
	return open.Requests
}

// Each job that follows is asked for once, however often the requests are read, or made again.
func (c *finishCase) follows() {
	c.requests = map[string][]byte{}
	for n := range 5 {
		id := fmt.Sprint("f", n)
		c.requests[id] = follower(c.T, id)
	}
	first := c.lease
	c.mustEnd(first)
	for range 3 {
		if open := c.mustOpen(); len(open) != 5 {
			c.Errorf("requested are %+v, want five", open)
		}
	}
	for n := range 5 {
		if err := c.cluster.Commands.Close(c.Context(), fmt.Sprint("f", n), "done"); err != nil {
			c.Fatal(err)
		}
	}
	c.mustEnd(c.mustClaim(1, false)) // with the same requests
	if open := c.mustOpen(); len(open) > 0 {
		c.Errorf("requested again are %+v", open)
	}
	if n, err := c.cluster.Commands.Queued(c.Context()); err != nil || n > 0 {
		c.Errorf("%d requests are queued, %v", n, err)
	}
}

func (c *finishCase) twice() {
	tx := c.begin()
	if err := c.finish(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	if err := c.end(tx, c.lease); !errors.Is(err, sqlfence.ErrEnded) {
		c.Errorf("in the same transaction: %v", err)
	}
	c.wants(ledger.Running, 0)
	early := c.begin()
	c.mustEnd(c.lease)
	for what, tx := range map[string]*sql.Tx{"since": early, "before": c.begin()} {
		if err := c.end(tx, c.lease); !errors.Is(err, sqlfence.ErrEnded) {
			c.Errorf("the run has ended %s the snapshot: %v", what, err)
		}
	}
	c.wants(ledger.Succeeded, 1)
}

// A run whose function has returned has ended.
func (c *finishCase) released() {
	early := c.begin()
	if err := c.lease.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Failed})); err != nil {
		c.Fatal(err)
	}
	for what, tx := range map[string]*sql.Tx{"since": early, "before": c.begin()} {
		if err := c.end(tx, c.lease); !errors.Is(err, sqlfence.ErrEnded) {
			c.Errorf("the run was released %s the snapshot: %v", what, err)
		}
	}
	c.wants(ledger.Failed, 0)
}

// Only the owner of the claim ends it, with its token.
func (c *finishCase) strangers() {
	stale := 0
	for what, change := range map[string]func(*finishtx.End){
		"a smaller token": func(e *finishtx.End) { e.Token-- }, "a larger token": func(e *finishtx.End) { e.Token++ },
		"no owner": func(e *finishtx.End) { e.Owner = "" }, "another owner": func(e *finishtx.End) { e.Owner += "x" },
		"another job": func(e *finishtx.End) { e.Job = "other" }, "another case": func(e *finishtx.End) { e.Job = "JOB" }, "a space": func(e *finishtx.End) { e.Job = "job " },
	} {
		ctx := fence.WithObserver(c.Context(), func(*fence.StaleError) { stale++ })
		tx := c.begin()
		c.change = change
		own, run := c.prepared(c.lease)
		prepare := finishtx.From(own)
		end, _ := prepare()
		run.Job, run.Token = end.Job, locking.Token(end.Token)
		err := Finish(finishtx.With(ctx, prepare, ""), tx, run)
		_ = tx.Rollback()
		if !errors.Is(err, finishtx.ErrNoClaim) || errors.Is(err, fence.ErrStale) {
			c.Errorf("%s: %v, want %v", what, err, finishtx.ErrNoClaim)
		}
	}
	c.change = nil
	ctx, run := c.prepared(c.lease)
	run.Token++
	if err := Finish(ctx, c.begin(), run); err == nil || !strings.Contains(err.Error(), "pass the run that the function was called with") {
		c.Errorf("the run of another call: %v", err)
	}
	if err := Finish(c.Context(), c.begin(), jobs.Run{}); err == nil || !strings.Contains(err.Error(), "the context is not that of a run") {
		c.Errorf("without the context of a run: %v", err)
	}
	c.wants(ledger.Running, 0)
	if stale > 0 {
		c.Errorf("observers heard of %d stale writes", stale)
	}
}

// Another claim came: before the snapshot, or since.
func (c *finishCase) overtaken() {
	c.expire()
	early := c.begin()
	next := c.mustClaim(1, false)
	heard := 0
	for what, tx := range map[string]*sql.Tx{"since": early, "before": c.begin()} {
		ctx, run := c.prepared(c.lease)
		err := Finish(fence.WithObserver(ctx, func(*fence.StaleError) { heard++ }), tx, run)
		_ = tx.Rollback()
		if stale, _ := errors.AsType[*fence.StaleError](err); stale == nil || stale.Resource != "job" || stale.Seen != next.Claim().Token || stale.Token != c.lease.Claim().Token {
			c.Errorf("another claim came %s the snapshot: %v", what, err)
		}
	}
	if heard != 2 {
		c.Errorf("observers heard of %d stale writes, want 2", heard)
	}
	c.wants(ledger.Running, 0)
}

// Nobody came after the lease had expired.
func (c *finishCase) expired() {
	tx := c.begin()
	c.expire()
	if err := c.end(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	if err := c.lease.Release(c.Context(), nil); !errors.Is(err, locking.ErrExpired) {
		c.Errorf("Release = %v, want %v", err, locking.ErrExpired)
	}
}

// Evicted runs are as those whose lease has expired: others may come first.
func (c *finishCase) evicted() {
	tx := c.begin()
	if _, err := c.cluster.Claims.Evict(c.Context(), "job", 0, "no"); err != nil {
		c.Fatal(err)
	}
	if err := c.end(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
}

func (c *finishCase) voided() {
	if err := c.lease.Void(c.Context()); err != nil {
		c.Fatal(err)
	}
	if err := c.end(c.begin(), c.lease); !errors.Is(err, sqlfence.ErrNoClaim) {
		c.Errorf("voided: %v", err)
	}
	if n := c.countEffects(); n > 0 {
		c.Errorf("%d effects", n)
	}
}

func (c *finishCase) forgotten() {
	early := c.begin()
	c.expire()
	if err := c.cluster.Claims.Forget(c.Context(), "job"); err != nil {
		c.Fatal(err)
	}
	for what, tx := range map[string]*sql.Tx{"since": early, "before": c.begin()} {
		if err := c.end(tx, c.lease); !errors.Is(err, sqlfence.ErrNoClaim) {
			c.Errorf("forgotten %s the snapshot: %v", what, err)
		}
	}
	if n, list := c.countEffects(), c.entries("job"); n != 0 || len(list) != 0 {
		c.Errorf("%d effects, %+v", n, list)
	}
}

// extendPast extends a lease until that which it had first would have expired.
func (c *finishCase) extendPast(l locking.Lease) {
	c.Helper()
	for until := time.Now().Add(finishTTL + 100*time.Millisecond); time.Now().Before(until); {
		if err := l.Extend(c.Context()); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
			c.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// A lease that was extended after the snapshot of the transaction lasts.
func (c *finishCase) extended() {
	tx := c.begin()
	var n int
	if err := tx.QueryRowContext(c.Context(), "SELECT COUNT(*) FROM "+quoted(c.database)+".records").Scan(&n); err != nil {
		c.Fatal(err)
	}
	c.extendPast(c.lease)
	if err := c.end(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	if list := c.entries("job"); list[0].Reason.Has(ledger.CodeLateEnd) {
		c.Errorf("the run ended late: %+v", list[0])
	}
	if err := c.lease.Release(c.Context(), nil); err != nil {
		c.Errorf("Release = %v", err)
	}
}

// Runs beside each other end each in a transaction, also the earlier one, whose lease was extended
// after the snapshot.
func (c *finishCase) beside() {
	_ = c.lease.Void(c.Context())
	first := c.mustClaim(1, true)
	second := c.mustClaim(2, true)
	tx := c.begin()
	for until := time.Now().Add(finishTTL + 100*time.Millisecond); time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		for _, l := range []locking.Lease{first, second} {
			if err := l.Extend(c.Context()); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
				c.Fatal(err)
			}
		}
	}
	if err := c.end(tx, first); err != nil {
		c.Fatal(err)
	}
	c.mustEnd(second)
	for _, e := range c.entries("job") {
		if e.Outcome != ledger.Succeeded || e.Reason.Has(ledger.CodeLateEnd) {
			c.Errorf("the ledger has %+v", e)
		}
	}
	if err := c.end(c.begin(), first); !errors.Is(err, sqlfence.ErrEnded) {
		c.Errorf("the earlier one again: %v", err)
	}
}

// The lease of one beside others has expired: others may have worked since.
func (c *finishCase) besideExpired() {
	_ = c.lease.Void(c.Context())
	first := c.mustClaim(1, true)
	early := c.begin()
	c.expire()
	c.ttl = finishGrace - time.Second
	second := c.mustClaim(2, true)
	for what, tx := range map[string]*sql.Tx{"since": early, "before": c.begin()} {
		err := c.end(tx, first)
		if stale, _ := errors.AsType[*fence.StaleError](err); stale == nil || stale.Seen != second.Claim().Token {
			c.Errorf("the lease has expired %s the snapshot: %v", what, err)
		}
	}
	c.wants(ledger.Running, 0)
}

// Settle waits for an open transaction, and finds its outcome.
func (c *finishCase) settles() {
	for _, commits := range []bool{false, true} {
		tx := c.begin()
		if err := c.finish(tx, c.lease); err != nil {
			c.Fatal(err)
		}
		short, stop := context.WithTimeout(c.Context(), finishTimeout)
		if _, _, err := c.lease.(settler).Settle(short); !errors.Is(err, locking.ErrNoQuorum) {
			c.Errorf("Settle while it is open = %v", err)
		}
		stop()
		type found struct {
			note  []byte
			ended bool
			err   error
		}
		settled := make(chan found, 1)
		go func() {
			var f found
			f.note, f.ended, f.err = c.lease.(settler).Settle(c.Context())
			settled <- f
		}()
		if commits {
			if err := tx.Commit(); err != nil {
				c.Fatal(err)
			}
		} else {
			_ = tx.Rollback()
		}
		if f := <-settled; f.ended != commits || f.err != nil || (len(f.note) > 0) != commits {
			c.Errorf("Settle = %s, %v, %v; committed: %v", f.note, f.ended, f.err, commits)
		}
	}
}

// TestFinish holds Finish to the rules, at both isolation levels.
func TestFinish(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	cases := map[string]func(*finishCase){
		"commit": (*finishCase).commits, "rollback": (*finishCase).rollsBack, "followers": (*finishCase).follows, "twice": (*finishCase).twice,
		"released": (*finishCase).released, "strangers": (*finishCase).strangers, "overtaken": (*finishCase).overtaken, "expired": (*finishCase).expired,
		"evicted": (*finishCase).evicted, "voided": (*finishCase).voided, "forgotten": (*finishCase).forgotten, "extended": (*finishCase).extended,
		"beside": (*finishCase).beside, "beside expired": (*finishCase).besideExpired, "settle": (*finishCase).settles, "open": (*finishCase).open,
	}
	lapses := map[string]bool{"overtaken": true, "expired": true, "forgotten": true, "extended": true, "beside": true, "beside expired": true, "open": true}
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		for name, test := range cases {
			t.Run(fmt.Sprintf("%s/%s", name, level), func(t *testing.T) {
				t.Parallel()
				ttl := finishGrace - time.Second // a busy machine has time
				if lapses[name] {
					ttl = 0
				}
				test(newFinishCase(w.rig(t), level, ttl))
			})
		}
	}
}
