// Package finishtest holds what ends a run in the transaction of its data to its rules, on any database.
package finishtest

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Times are those of leases, where a test does not choose others.
var Times = claims.Config{TTL: 3 * time.Second, Grace: 8 * time.Second, Timeout: 740 * time.Millisecond}

// Calm is how long a lease lasts that should not end on a busy machine.
const Calm = 7 * time.Second

// A Tx is a transaction of an application. Its snapshot is taken, and it has left an effect.
type Tx interface {
	Finish(ctx context.Context, run jobs.Run) error
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// A Place has a store, and the table of an application in the same database.
type Place struct {
	Name    string                 // of the store
	Cluster *single.Cluster        // as a replica opens it
	Open    func() *single.Cluster // opens it once more
	Addr    string                 // of the server
	// Connect returns what begins transactions by connections through the address.
	Connect func(addr string) (begin func(context.Context) (Tx, error))
	Effects func() int // that transactions have left
	// Repeats reports whether an error says that the snapshot of the transaction is older than a change, and
	// that it is to be repeated. If nil, no transaction has to be.
	Repeats func(error) bool
	// While, if set, does what has to go on while the transaction of the case is open.
	While func(*Case)
}

// A Case is a run whose claim is held.
type Case struct {
	*testing.T
	Place
	Lease     locking.Lease
	TTL       time.Duration // of claims
	Text      string        // of the note
	Followers []string      // the jobs that follow
	Change    func(*finishtx.End)

	base  time.Time
	begin func(context.Context) (Tx, error)
}

// NewCase claims a run.
func NewCase(t *testing.T, p Place, ttl time.Duration) *Case {
	t.Helper()
	c := &Case{T: t, Place: p, TTL: ttl, base: time.Now().Add(-time.Minute).Truncate(time.Second), begin: p.Connect(p.Addr)}
	c.Lease = c.MustClaim(0, false)
	return c
}

// Claim claims the n-th tick of a job.
func (c *Case) Claim(job string, n int, beside bool) (locking.Lease, error) {
	return c.Cluster.Claims.TryAcquire(c.Context(), locking.Request{
		Name: job, Tick: c.base.Add(time.Duration(n) * time.Second), Beside: beside, TTL: cmp.Or(c.TTL, Times.TTL), Holder: "a",
	})
}

// MustClaim claims the n-th tick of the job.
func (c *Case) MustClaim(n int, beside bool) locking.Lease {
	c.Helper()
	l, err := Patiently(func() (locking.Lease, error) { return c.Claim("job", n, beside) })
	if err != nil {
		c.Fatal(err)
	}
	return l
}

// Patiently repeats a call that the store has not answered: a busy machine answers late.
func Patiently[T any](call func() (T, error)) (T, error) {
	v, err := call()
	for n := 0; n < 10 && errors.Is(err, locking.ErrNoQuorum); n++ {
		v, err = call()
	}
	return v, err
}

// A Settler is what the engine asks of a lease.
type Settler interface {
	Settle(ctx context.Context) (note []byte, ended bool, err error)
	Database() (schema, owner string)
	Look(ctx context.Context) (has bool, seen uint64, err error)
}

func settler(l locking.Lease) Settler { return l.(Settler) } //nolint:forcetypeassert // stores with transactions have such leases

// Follows is the ID of the request for a job that follows.
func Follows(job string) string { return "after:" + job }

// Prepared is the context of a call of the function under the claim of l, and its run.
func (c *Case) Prepared(l locking.Lease) (context.Context, jobs.Run) {
	c.Helper()
	claim := l.Claim()
	schema, owner := settler(l).Database()
	end := finishtx.End{
		Schema: schema, Job: claim.Name, Token: uint64(claim.Token), Owner: owner, Followers: c.Followers, Requests: map[string][]byte{}, Look: settler(l).Look,
		Note: ledger.EncodeNote(ledger.Entry{Outcome: ledger.Succeeded, Finished: time.Now(), Error: c.Text}),
	}
	for _, job := range c.Followers {
		id := Follows(job)
		request, err := commands.Command{
			ID: id, Kind: commands.Trigger, Job: job, By: claim.Name, Trigger: ledger.ByChain, Parent: ledger.Entry{Job: claim.Name, Tick: claim.Tick}.ID(),
		}.Ready()
		if err == nil {
			end.Requests[id], err = request.Encode()
		}
		if err != nil {
			c.Fatal(err)
		}
	}
	if c.Change != nil {
		c.Change(&end)
	}
	ctx := finishtx.With(c.Context(), func() (finishtx.End, error) { return end, nil }, schema)
	return ctx, jobs.Run{Job: claim.Name, Token: claim.Token, Tick: claim.Tick}
}

// Begin begins a transaction of the application.
func (c *Case) Begin() Tx {
	c.Helper()
	tx, err := c.begin(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(c.Context())) }) // else it would hold its locks
	return tx
}

// Finish finishes the run of l in tx.
func (c *Case) Finish(tx Tx, l locking.Lease) error {
	c.Helper()
	ctx, run := c.Prepared(l)
	return tx.Finish(ctx, run)
}

// End finishes the run of l in tx, and commits if that is accepted.
func (c *Case) End(tx Tx, l locking.Lease) error {
	c.Helper()
	if err := c.Finish(tx, l); err != nil {
		_ = tx.Rollback(c.Context())
		return err
	}
	return tx.Commit(c.Context())
}

// MustEnd ends the run of l in a transaction of its own.
func (c *Case) MustEnd(l locking.Lease) {
	c.Helper()
	if err := c.End(c.Begin(), l); err != nil {
		c.Fatal(err)
	}
}

// Entries are those of a job in the ledger, the newest first.
func (p Place) Entries(t *testing.T, job string) []ledger.Entry {
	t.Helper()
	list, err := Patiently(func() ([]ledger.Entry, error) {
		return p.Cluster.Ledger.Runs(t.Context(), ledger.Query{Job: job, Limit: 100})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Requests takes what is queued, and returns the open requests.
func Requests(t *testing.T, cluster *single.Cluster) []commands.Command {
	t.Helper()
	open, err := Patiently(func() (commands.Open, error) { return cluster.Commands.Open(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	return open.Requests
}

// Wants checks the last run of the job, and how many effects there are.
func (c *Case) Wants(outcome ledger.Outcome, effects int) {
	c.Helper()
	list := c.Entries(c.T, "job")
	if len(list) == 0 || list[0].Outcome != outcome {
		c.Errorf("the ledger has %+v, want %s first", list, outcome)
	}
	if n := c.Effects(); n != effects {
		c.Errorf("%d effects, want %d", n, effects)
	}
}

// Expire waits until leases that are not extended have expired.
func (c *Case) Expire() {
	select {
	case <-time.After(cmp.Or(c.TTL, Times.TTL) + 50*time.Millisecond):
	case <-c.Context().Done():
	}
}

// ExtendPast extends leases until those which they were first would have expired.
func (c *Case) ExtendPast(leases ...locking.Lease) {
	c.Helper()
	for until := time.Now().Add(cmp.Or(c.TTL, Times.TTL) + 100*time.Millisecond); time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		for _, l := range leases {
			if err := l.Extend(c.Context()); err != nil && !errors.Is(err, locking.ErrNoQuorum) {
				c.Fatal(err)
			}
		}
	}
}
