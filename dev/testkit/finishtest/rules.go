package finishtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A rule is what Finish keeps. Where lapses is set, leases last only for the TTL of Times.
type rule struct {
	test   func(*Case)
	lapses bool
}

func rules() map[string]rule {
	return map[string]rule{
		"commit": {test: (*Case).commits}, "rollback": {test: (*Case).rollsBack}, "twice": {test: (*Case).twice}, "released": {test: (*Case).released},
		"strangers": {test: (*Case).strangers}, "evicted": {test: (*Case).evicted}, "voided": {test: (*Case).voided}, "settle": {test: (*Case).settles},
		"zeros":     {test: (*Case).zeros},
		"overtaken": {(*Case).overtaken, true}, "expired": {(*Case).expired, true}, "forgotten": {(*Case).forgotten, true}, "extended": {(*Case).extended, true},
		"beside": {(*Case).beside, true}, "beside expired": {(*Case).besideExpired, true}, "open": {(*Case).open, true},
	}
}

// Rules holds Finish to the rules, with each kind of transaction. Each test has a place of its own.
func Rules(t *testing.T, kinds map[string]func(*testing.T) Place) {
	t.Helper()
	for kind, place := range kinds {
		for name, rule := range rules() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				ttl := Calm
				if rule.lapses {
					ttl = Times.TTL
				}
				rule.test(NewCase(t, place(t), ttl))
			})
		}
	}
}

// both calls end for a transaction that began before what has happened since early, and for a new one. The first may
// have to be repeated, if the place has such.
func (c *Case) both(early Tx, l locking.Lease, is func(error) bool) {
	c.Helper()
	if err := c.End(early, l); !is(err) && (c.Repeats == nil || !c.Repeats(err)) {
		c.Errorf("with an older snapshot: %v", err)
	}
	if err := c.End(c.Begin(), l); !is(err) {
		c.Errorf("with a newer snapshot: %v", err)
	}
}

func isEnded(err error) bool { return errors.Is(err, sqlfence.ErrEnded) }

func isUnknown(err error) bool { return errors.Is(err, sqlfence.ErrNoClaim) }

// A run that Finish has ended stays so, whatever comes after.
func (c *Case) commits() {
	c.MustEnd(c.Lease)
	c.Wants(ledger.Succeeded, 1)
	for range 2 {
		if err := c.Lease.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Failed})); err != nil {
			c.Errorf("Release = %v", err)
		}
	}
	c.Wants(ledger.Succeeded, 1)
	if _, err := c.Claim("job", 0, false); !errors.Is(err, locking.ErrDone) {
		c.Errorf("the tick again: %v", err)
	}
	if l := c.MustClaim(1, false); l.Claim().Token <= c.Lease.Claim().Token {
		c.Errorf("token %d after %d", l.Claim().Token, c.Lease.Claim().Token)
	}
}

// What was rolled back has changed nothing, and asked for nothing.
func (c *Case) rollsBack() {
	c.Followers = []string{"next"}
	tx := c.Begin()
	if err := c.Finish(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	_ = tx.Rollback(c.Context())
	c.Wants(ledger.Running, 0)
	if _, ended, err := settler(c.Lease).Settle(c.Context()); ended || err != nil {
		c.Errorf("Settle = %v, %v", ended, err)
	}
	if open := Requests(c.T, c.Cluster); len(open) > 0 {
		c.Errorf("requested are %+v", open)
	}
	if err := c.Lease.Extend(c.Context()); err != nil {
		c.Errorf("Extend = %v", err)
	}
	c.MustEnd(c.Lease)
	c.Wants(ledger.Succeeded, 1)
	parent := ledger.Entry{Job: "job", Tick: c.Lease.Claim().Tick}.ID()
	if open := Requests(c.T, c.Cluster); len(open) != 1 || open[0].Job != "next" || open[0].Trigger != ledger.ByChain || open[0].Parent != parent || open[0].By != "job" {
		c.Errorf("requested are %+v", open)
	}
}

func (c *Case) twice() {
	tx := c.Begin()
	if err := c.Finish(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	if err := c.End(tx, c.Lease); !isEnded(err) {
		c.Errorf("in the same transaction: %v", err)
	}
	c.Wants(ledger.Running, 0)
	early := c.Begin()
	c.MustEnd(c.Lease)
	c.both(early, c.Lease, isEnded)
	c.Wants(ledger.Succeeded, 1)
}

// A run whose function has returned has ended.
func (c *Case) released() {
	early := c.Begin()
	if err := c.Lease.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Failed})); err != nil {
		c.Fatal(err)
	}
	c.both(early, c.Lease, isEnded)
	c.Wants(ledger.Failed, 0)
}

// Only the owner of the claim ends it, with its token.
func (c *Case) strangers() {
	stale := 0
	for what, change := range map[string]func(*finishtx.End){
		"a smaller token": func(e *finishtx.End) { e.Token-- }, "a larger token": func(e *finishtx.End) { e.Token++ },
		"another owner": func(e *finishtx.End) { e.Owner += "x" },
		"another job":   func(e *finishtx.End) { e.Job = "other" }, "another case": func(e *finishtx.End) { e.Job = "JOB" }, "a space": func(e *finishtx.End) { e.Job = "job " },
	} {
		tx := c.Begin()
		c.Change = change
		ctx, run := c.Prepared(c.Lease)
		end, _ := finishtx.From(ctx)()
		run.Job, run.Token = end.Job, locking.Token(end.Token)
		err := tx.Finish(fence.WithObserver(ctx, func(*fence.StaleError) { stale++ }), run)
		_ = tx.Rollback(ctx)
		if !isUnknown(err) || errors.Is(err, fence.ErrStale) {
			c.Errorf("%s: %v, want %v", what, err, sqlfence.ErrNoClaim)
		}
	}
	c.Change = func(e *finishtx.End) { e.Owner = "" }
	if err := c.End(c.Begin(), c.Lease); err == nil || errors.Is(err, fence.ErrStale) {
		c.Errorf("no owner: %v", err)
	}
	c.Change = nil
	ctx, run := c.Prepared(c.Lease)
	run.Token++
	if err := c.Begin().Finish(ctx, run); err == nil || !strings.Contains(err.Error(), "pass the run that the function was called with") {
		c.Errorf("the run of another call: %v", err)
	}
	if err := c.Begin().Finish(c.Context(), jobs.Run{}); err == nil || !strings.Contains(err.Error(), "the context is not that of a run") {
		c.Errorf("without the context of a run: %v", err)
	}
	c.Wants(ledger.Running, 0)
	if stale > 0 {
		c.Errorf("observers heard of %d stale writes", stale)
	}
}

// Evicted runs are as those whose lease has expired: others may come first.
func (c *Case) evicted() {
	tx := c.Begin()
	if _, err := c.Cluster.Claims.Evict(c.Context(), "job", 0, "no"); err != nil {
		c.Fatal(err)
	}
	if err := c.End(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	c.Wants(ledger.Succeeded, 1)
}

func (c *Case) voided() {
	if err := c.Lease.Void(c.Context()); err != nil {
		c.Fatal(err)
	}
	if err := c.End(c.Begin(), c.Lease); !isUnknown(err) {
		c.Errorf("voided: %v", err)
	}
	if n := c.Effects(); n > 0 {
		c.Errorf("%d effects", n)
	}
}

// Settle waits for an open transaction, and finds its outcome.
func (c *Case) settles() {
	for _, commits := range []bool{false, true} {
		tx := c.Begin()
		if err := c.Finish(tx, c.Lease); err != nil {
			c.Fatal(err)
		}
		short, stop := context.WithTimeout(c.Context(), Times.Timeout)
		if _, _, err := settler(c.Lease).Settle(short); !errors.Is(err, locking.ErrNoQuorum) {
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
			f.note, f.ended, f.err = settler(c.Lease).Settle(c.Context())
			settled <- f
		}()
		if commits {
			if err := tx.Commit(c.Context()); err != nil {
				c.Error(err)
			}
		} else {
			_ = tx.Rollback(c.Context())
		}
		if f := <-settled; f.ended != commits || f.err != nil || (len(f.note) > 0) != commits {
			c.Errorf("Settle = %s, %v, %v; committed: %v", f.note, f.ended, f.err, commits)
		}
	}
}

// A note may hold what the texts of databases may not.
func (c *Case) zeros() {
	c.Text = "a\x00b"
	c.MustEnd(c.Lease)
	if list := c.Entries(c.T, "job"); len(list) != 1 || list[0].Error != c.Text {
		c.Errorf("the ledger has %+v", list)
	}
}

// Another claim came.
func (c *Case) overtaken() {
	c.Expire()
	early := c.Begin()
	next := c.MustClaim(1, false)
	c.both(early, c.Lease, func(err error) bool {
		stale, _ := errors.AsType[*fence.StaleError](err)
		return stale != nil && stale.Resource == "job" && stale.Seen == next.Claim().Token && stale.Token == c.Lease.Claim().Token
	})
	heard := 0
	ctx, run := c.Prepared(c.Lease)
	if _ = c.Begin().Finish(fence.WithObserver(ctx, func(*fence.StaleError) { heard++ }), run); heard != 1 {
		c.Errorf("observers heard of %d stale writes, want one", heard)
	}
	c.Wants(ledger.Running, 0)
}

// Nobody came after the lease had expired.
func (c *Case) expired() {
	tx := c.Begin()
	c.Expire()
	if c.Repeats != nil { // an older snapshot does not tell
		tx = c.Begin()
	}
	if err := c.End(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	c.Wants(ledger.Succeeded, 1)
	if err := c.Lease.Release(c.Context(), nil); !errors.Is(err, locking.ErrExpired) {
		c.Errorf("Release = %v, want %v", err, locking.ErrExpired)
	}
}

func (c *Case) forgotten() {
	early := c.Begin()
	c.Expire()
	if err := c.Cluster.Claims.Forget(c.Context(), "job"); err != nil {
		c.Fatal(err)
	}
	c.both(early, c.Lease, isUnknown)
	if n, list := c.Effects(), c.Entries(c.T, "job"); n != 0 || len(list) != 0 {
		c.Errorf("%d effects, %+v", n, list)
	}
}

// A lease that was extended after the snapshot of the transaction lasts.
func (c *Case) extended() {
	tx := c.Begin()
	c.ExtendPast(c.Lease)
	if err := c.End(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	c.Wants(ledger.Succeeded, 1)
	if list := c.Entries(c.T, "job"); list[0].Reason.Has(ledger.CodeLateEnd) {
		c.Errorf("the run ended late: %+v", list[0])
	}
	if err := c.Lease.Release(c.Context(), nil); err != nil {
		c.Errorf("Release = %v", err)
	}
}

// Runs beside each other end each in a transaction, also the earlier one, whose lease was extended after
// the snapshot.
func (c *Case) beside() {
	_ = c.Lease.Void(c.Context())
	first := c.MustClaim(1, true)
	second := c.MustClaim(2, true)
	tx := c.Begin()
	c.ExtendPast(first, second)
	err := c.End(tx, first)
	if c.Repeats != nil && c.Repeats(err) {
		err = c.End(c.Begin(), first)
	}
	if err != nil {
		c.Fatal(err)
	}
	c.MustEnd(second)
	for _, e := range c.Entries(c.T, "job") {
		if e.Outcome != ledger.Succeeded || e.Reason.Has(ledger.CodeLateEnd) {
			c.Errorf("the ledger has %+v", e)
		}
	}
	if err := c.End(c.Begin(), first); !isEnded(err) {
		c.Errorf("the earlier one again: %v", err)
	}
}

// The lease of one beside others has expired: others may have worked since.
func (c *Case) besideExpired() {
	_ = c.Lease.Void(c.Context())
	first := c.MustClaim(1, true)
	early := c.Begin()
	c.Expire()
	c.TTL = Calm
	second := c.MustClaim(2, true)
	c.both(early, first, func(err error) bool {
		stale, _ := errors.AsType[*fence.StaleError](err)
		return stale != nil && stale.Seen == second.Claim().Token
	})
	c.Wants(ledger.Running, 0)
}

// While a transaction is open after Finish, the lease is extended, and no extension waits. Those that want the same job learn that its
// run goes on, also when the lease has expired.
func (c *Case) open() {
	tx := c.Begin()
	if err := c.Finish(tx, c.Lease); err != nil {
		c.Fatal(err)
	}
	c.ExtendPast(c.Lease)
	c.Wants(ledger.Running, 0)
	if c.While != nil {
		c.While(c)
	}
	c.Expire()
	for range 2 {
		_, err := c.Claim("job", 1, false)
		taken, _ := errors.AsType[*locking.AcquireError](err)
		if !errors.Is(err, locking.ErrTaken) || errors.Is(err, locking.ErrNoQuorum) || taken.Holder != "a" || taken.HolderToken != c.Lease.Claim().Token {
			c.Errorf("behind the transaction: %v", err)
		}
	}
	c.Wants(ledger.Interrupted, 0) // nothing more is known of a replica that does not extend
	side := c.Cluster.Side(c.Name)
	if _, err := side.Memory(c.Context()); err == nil || !strings.Contains(err.Error(), "may end the run of job") {
		c.Errorf("copying: %v", err) // else the copy would run it again
	}
	if err := tx.Commit(c.Context()); err != nil {
		c.Fatal(err)
	}
	c.Wants(ledger.Succeeded, 1)
	if note, ended, err := settler(c.Lease).Settle(c.Context()); !ended || err != nil || len(note) == 0 {
		c.Errorf("Settle = %s, %v, %v", note, ended, err)
	}
	if m, err := side.Memory(c.Context()); err != nil || !slices.ContainsFunc(m.Claims, func(claim locking.Holding) bool { return claim.Name == "job" && claim.Done }) {
		c.Errorf("copying: %+v, %v", m, err)
	}
	c.MustClaim(1, false)
}
