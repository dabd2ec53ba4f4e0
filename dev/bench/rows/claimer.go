package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A claimer claims ticks of a job of its own, one after the other, as a replica
// that runs the job does.
type claimer struct {
	locker locking.Locker
	job    string
	direct bool
	tick   time.Time
}

// newClaimers returns n claimers of jobs that nobody else claims.
func newClaimers(locker locking.Locker, kind string, n int, direct bool) []*claimer {
	var list []*claimer
	for i := range n {
		list = append(list, &claimer{
			locker: locker, job: fmt.Sprintf("%s-%03d", kind, i), direct: direct,
			// Every claim takes a later tick, and none may lie in the future.
			tick: time.Now().UTC().Truncate(time.Second).Add(-30 * 24 * time.Hour),
		})
	}
	return list
}

// claim wins the next tick.
func (c *claimer) claim(ctx context.Context) (locking.Lease, error) {
	c.tick = c.tick.Add(time.Second)
	return c.locker.TryAcquire(ctx, locking.Request{
		Name: c.job, Tick: c.tick, TTL: 15 * time.Second, Holder: "replica-a", Direct: c.direct,
		Note: ledger.EncodeNote(c.entry(ledger.Running)),
	})
}

// run wins the next tick, and finishes it at once.
func (c *claimer) run(ctx context.Context) error {
	lease, err := c.claim(ctx)
	if err != nil {
		return err
	}
	return c.finish(ctx, lease)
}

func (c *claimer) finish(ctx context.Context, lease locking.Lease) error {
	e := c.entry(ledger.Succeeded)
	e.Finished, e.Votes = time.Now(), lease.Claim().Votes
	return lease.Release(ctx, ledger.EncodeNote(e))
}

// entry is what a replica writes to the ledger.
func (c *claimer) entry(o ledger.Outcome) ledger.Entry {
	return ledger.Entry{
		Job: c.job, Tick: c.tick, Trigger: ledger.BySchedule, Replica: "replica-a",
		Outcome: o, Started: time.Now(), Hash: "0123456789abcdef",
	}
}
