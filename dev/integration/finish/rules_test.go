package finish_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/ledger"
)

func schemaIn(statement, schema string) string {
	return strings.ReplaceAll(statement, "{schema}", pgx.Identifier{schema}.Sanitize())
}

// A caser is a run whose claim is held, and how it begins transactions.
type caser struct {
	*rig
	driver driver
	level  string
	lease  locking.Lease
	base   time.Time
	ttl    time.Duration // of claims; 0: ttl
	after  []string      // the jobs that follow
	text   string        // of the note
}

// claim claims the n-th tick of the job.
func (c *caser) claim(n int, beside bool) (locking.Lease, error) {
	req := locking.Request{Name: "job", Tick: c.base.Add(time.Duration(n) * time.Second), Beside: beside, TTL: cmp.Or(c.ttl, ttl), Holder: "a"}
	return c.cluster.Claims.TryAcquire(c.Context(), req)
}

func (c *caser) mustClaim(n int, beside bool) locking.Lease {
	c.Helper()
	l, err := c.claim(n, beside)
	for range 5 { // on a busy machine a connection takes longer than a call may
		if !errors.Is(err, locking.ErrNoQuorum) {
			break
		}
		l, err = c.claim(n, beside)
	}
	if err != nil {
		c.Fatal(err)
	}
	return l
}

// prepared is the context of a call of the function under the claim of l, and its run.
func (c *caser) prepared(l locking.Lease) (context.Context, jobs.Run) {
	claim := l.Claim()
	note := ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded, Finished: time.Now(), Error: c.text})
	ctx := finishtx.With(c.Context(), func() (finishtx.End, error) {
		schema, owner := l.(settler).Database()
		return finishtx.End{
			Schema: schema, Job: claim.Name, Token: uint64(claim.Token), Owner: owner, Note: note, Followers: c.after, Look: l.(settler).Look,
		}, nil
	}, "")
	return ctx, jobs.Run{Job: claim.Name, Token: claim.Token, Tick: claim.Tick}
}

// begin begins a transaction whose snapshot is taken, with an effect.
func (c *caser) begin() transaction {
	c.Helper()
	tx, err := c.driver(c.Context(), c.rig, c.level)
	if err != nil {
		c.Fatal(err)
	}
	if err := tx.exec(c.Context(), c.rig.text("INSERT INTO {schema}.effects VALUES ('x', 1)")); err != nil {
		c.Fatal(err)
	}
	return tx
}

// end finishes the run of l in tx, and commits if that is accepted.
func (c *caser) end(tx transaction, l locking.Lease) error {
	c.Helper()
	ctx, run := c.prepared(l)
	if err := tx.finish(ctx, run); err != nil {
		_ = tx.rollback(c.Context())
		return err
	}
	return tx.commit(c.Context())
}

// wants checks the last run of the job, and how many effects there are.
func (c *caser) wants(outcome ledger.Outcome, effects int) {
	c.Helper()
	list := c.entries("job")
	if len(list) == 0 || list[0].Outcome != outcome {
		c.Errorf("the ledger has %+v, want %s first", list, outcome)
	}
	if n := c.effects(); n != effects {
		c.Errorf("%d effects, want %d", n, effects)
	}
}

// expire waits until leases that are not extended have expired.
func (c *caser) expire() {
	select {
	case <-time.After(cmp.Or(c.ttl, ttl) + 50*time.Millisecond):
	case <-c.Context().Done():
	}
}

func (c *caser) strict() bool { return c.level != "read committed" }

// A run that Finish has ended stays so, whatever comes after.
func (c *caser) commits() {
	if err := c.end(c.begin(), c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	for range 2 {
		if err := c.lease.Release(c.Context(), ledger.EncodeNote(ledger.Entry{Outcome: ledger.Failed})); err != nil {
			c.Errorf("Release = %v", err)
		}
	}
	c.wants(ledger.Succeeded, 1)
	if _, err := c.claim(0, false); !errors.Is(err, locking.ErrDone) {
		c.Errorf("the tick again: %v", err)
	}
	if l := c.mustClaim(1, false); l.Claim().Token <= c.lease.Claim().Token {
		c.Errorf("token %d after %d", l.Claim().Token, c.lease.Claim().Token)
	}
}

func (c *caser) rollsBack() {
	c.after = []string{"next"}
	tx := c.begin()
	ctx, run := c.prepared(c.lease)
	if err := tx.finish(ctx, run); err != nil {
		c.Fatal(err)
	}
	_ = tx.rollback(ctx)
	c.wants(ledger.Running, 0)
	if _, ended, err := c.lease.(settler).Settle(c.Context()); ended || err != nil {
		c.Errorf("Settle = %v, %v", ended, err)
	}
	if open, err := c.cluster.Commands.Open(c.Context()); err != nil || len(open.Requests) > 0 {
		c.Errorf("requested are %+v, %v", open.Requests, err)
	}
	if err := c.end(c.begin(), c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	open, err := c.cluster.Commands.Open(c.Context())
	parent := ledger.Entry{Job: "job", Tick: c.lease.Claim().Tick}.ID()
	if err != nil || len(open.Requests) != 1 || open.Requests[0].Job != "next" || open.Requests[0].Trigger != ledger.ByChain || open.Requests[0].Parent != parent || open.Requests[0].By != "job" {
		c.Errorf("requested are %+v, %v", open.Requests, err)
	}
}

// settler is what the engine asks of a lease.
type settler interface {
	Settle(ctx context.Context) (note []byte, ended bool, err error)
	Database() (schema, owner string)
	Look(ctx context.Context) (has bool, seen uint64, err error)
}

func (c *caser) twice() {
	tx := c.begin()
	ctx, run := c.prepared(c.lease)
	if err := tx.finish(ctx, run); err != nil {
		c.Fatal(err)
	}
	if err := c.end(tx, c.lease); !errors.Is(err, sqlfence.ErrEnded) {
		c.Errorf("in the same transaction: %v", err)
	}
	c.wants(ledger.Running, 0)
	if err := c.end(c.begin(), c.lease); err != nil {
		c.Fatal(err)
	}
	if err := c.end(c.begin(), c.lease); !errors.Is(err, sqlfence.ErrEnded) {
		c.Errorf("in another transaction: %v", err)
	}
	c.wants(ledger.Succeeded, 1)
}

// Another claim came: before the snapshot, or since.
func (c *caser) overtaken() {
	c.expire()
	early := c.begin()
	next := c.mustClaim(1, false)
	for what, tx := range map[string]transaction{"since": early, "before": c.begin()} {
		err := c.end(tx, c.lease)
		if stale, _ := errors.AsType[*fence.StaleError](err); stale != nil && stale.Seen == next.Claim().Token && stale.Token == c.lease.Claim().Token {
			continue
		}
		if what != "since" || !c.strict() || !isSerializationFailure(err) {
			c.Errorf("another claim came %s the snapshot: %v", what, err)
		}
	}
	c.wants(ledger.Running, 0)
}

func isSerializationFailure(err error) bool {
	var coded interface{ SQLState() string }
	return errors.As(err, &coded) && coded.SQLState() == "40001"
}

// Nobody came after the lease had expired.
func (c *caser) expired() {
	c.expire()
	if err := c.end(c.begin(), c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	if err := c.lease.Release(c.Context(), nil); !errors.Is(err, locking.ErrExpired) {
		c.Errorf("Release = %v, want %v", err, locking.ErrExpired)
	}
}

// Evicted runs are as those whose lease has expired: others may come first.
func (c *caser) evicted() {
	tx := c.begin()
	if _, err := c.cluster.Claims.Evict(c.Context(), "job", 0, "no"); err != nil {
		c.Fatal(err)
	}
	if err := c.end(tx, c.lease); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
}

func (c *caser) forgotten() {
	early := c.begin()
	c.expire()
	if err := c.cluster.Claims.Forget(c.Context(), "job"); err != nil {
		c.Fatal(err)
	}
	if err := c.end(early, c.lease); !errors.Is(err, sqlfence.ErrNoClaim) && !isSerializationFailure(err) {
		c.Errorf("forgotten since the snapshot: %v", err)
	}
	if err := c.end(c.begin(), c.lease); !errors.Is(err, sqlfence.ErrNoClaim) {
		c.Errorf("forgotten: %v", err)
	}
	if n, list := c.effects(), c.entries("job"); n != 0 || len(list) != 0 {
		c.Errorf("%d effects, %+v", n, list)
	}
}

// Extensions neither wait for a transaction, nor make it fail. A lease that was extended after the snapshot
// of the transaction lasts.
func (c *caser) extended() {
	tx := c.begin()
	for until := time.Now().Add(ttl + 100*time.Millisecond); time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		if err := c.lease.Extend(c.Context()); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
			c.Fatal(err)
		}
	}
	ctx, run := c.prepared(c.lease)
	if err := tx.finish(ctx, run); err != nil {
		c.Fatal(err)
	}
	if err := c.lease.Extend(c.Context()); err != nil {
		c.Errorf("while the transaction is open: %v", err)
	}
	if err := tx.commit(ctx); err != nil {
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

// Runs beside each other end each in a transaction, also the earlier one.
func (c *caser) beside() {
	_ = c.lease.Void(c.Context())
	first := c.mustClaim(1, true)
	tx := c.begin()
	second := c.mustClaim(2, true)
	err := c.end(tx, first)
	if c.strict() {
		if !isSerializationFailure(err) {
			c.Errorf("the claims have changed since the snapshot: %v", err)
		}
		err = c.end(c.begin(), first)
	}
	if err != nil {
		c.Fatal(err)
	}
	if err := c.end(c.begin(), second); err != nil {
		c.Fatal(err)
	}
	for _, e := range c.entries("job") {
		if e.Outcome != ledger.Succeeded {
			c.Errorf("the ledger has %+v", e)
		}
	}
	// The lease of one beside others has expired: others may have worked since.
	third := c.mustClaim(3, true)
	c.expire()
	c.ttl = grace - time.Second
	_ = c.mustClaim(4, true)
	if err := c.end(c.begin(), third); !errors.Is(err, fence.ErrStale) {
		c.Errorf("of an earlier one whose lease has expired: %v", err)
	}
	c.wants(ledger.Running, 2)
}

// A note may hold what PostgreSQL's texts may not.
func (c *caser) zeros() {
	c.text = "a\x00b"
	if err := c.end(c.begin(), c.lease); err != nil {
		c.Fatal(err)
	}
	if list := c.entries("job"); len(list) != 1 || list[0].Error != c.text {
		c.Errorf("the ledger has %+v", list)
	}
}

// Whoever else wants the job learns that its run goes on, while its transaction is open.
func (c *caser) frozen() {
	tx := c.begin()
	ctx, run := c.prepared(c.lease)
	if err := tx.finish(ctx, run); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Running, 0) // its lease lasts
	c.expire()
	for range 2 {
		_, err := c.claim(1, false)
		taken, _ := errors.AsType[*locking.AcquireError](err)
		if !errors.Is(err, locking.ErrTaken) || errors.Is(err, locking.ErrNoQuorum) || taken.Holder != "a" || taken.HolderToken != c.lease.Claim().Token {
			c.Errorf("behind the transaction: %v", err)
		}
	}
	c.wants(ledger.Interrupted, 0) // nothing more is known of a replica that does not extend
	side := c.cluster.Side(c.schema)
	if _, err := side.Memory(ctx); err == nil || !strings.Contains(err.Error(), "may end the run of job") {
		c.Errorf("copying: %v", err) // else the copy would run it again
	}
	short, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	if _, _, err := c.lease.(settler).Settle(short); !errors.Is(err, locking.ErrNoQuorum) {
		c.Errorf("Settle = %v", err)
	}
	if err := tx.commit(ctx); err != nil {
		c.Fatal(err)
	}
	c.wants(ledger.Succeeded, 1)
	if note, ended, err := c.lease.(settler).Settle(ctx); !ended || err != nil || len(note) == 0 {
		c.Errorf("Settle = %s, %v, %v", note, ended, err)
	}
	if m, err := side.Memory(ctx); err != nil || len(m.Claims) != 1 || !m.Claims[0].Done {
		c.Errorf("copying: %+v, %v", m, err)
	}
	c.mustClaim(1, false)
}

// TestRules holds Finish to the rules, at all isolation levels and with all drivers.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := map[string]func(*caser){
		"commit": (*caser).commits, "rollback": (*caser).rollsBack, "twice": (*caser).twice, "overtaken": (*caser).overtaken,
		"expired": (*caser).expired, "evicted": (*caser).evicted, "forgotten": (*caser).forgotten, "extended": (*caser).extended,
		"beside": (*caser).beside, "zeros": (*caser).zeros, "frozen": (*caser).frozen,
	}
	lapses := map[string]bool{"overtaken": true, "expired": true, "forgotten": true, "extended": true, "beside": true}
	for level := range levels() {
		for with, driver := range drivers() {
			for name, test := range cases {
				t.Run(fmt.Sprintf("%s/%s/%s", name, level, with), func(t *testing.T) {
					t.Parallel()
					c := &caser{rig: w.rig(t), driver: driver, level: level, base: time.Now().Add(-time.Minute).Truncate(time.Second)}
					if !lapses[name] { // a busy machine has time
						c.ttl = grace - time.Second
					}
					c.lease = c.mustClaim(0, false)
					test(c)
				})
			}
		}
	}
}
