package attempt

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A task is one tick that this replica is to decide. Its parts may be used by several
// goroutines; nothing else in it changes.
type task struct {
	*Deps
	*Brief
}

// request is the request for the tick, without a note.
func (t *task) request() locking.Request {
	return locking.Request{
		Name: t.Job.StoredAs(), Tick: t.Tick.At, Stream: t.Tick.Stream, Beside: t.Beside(), TTL: t.cfg.TTL, Mode: t.Job.Mode(),
		Holder: t.cfg.Replica,
	}
}

// entry begins the ledger's entry of the tick.
func (t *task) entry(by ledger.Trigger, o ledger.Outcome, started time.Time) ledger.Entry {
	e := t.Tick.Entry(t.Job, t.cfg.Replica)
	e.Trigger, e.Outcome, e.Started = by, o, started
	return e
}

// ledgerLook bounds a query of the ledger.
const ledgerLook = 2 * time.Second

// recorded returns the last of the tick's runs in the ledger, at most so many.
func (t *task) recorded(within context.Context, most int) []ledger.Entry {
	ctx, cancel := context.WithTimeout(within, ledgerLook)
	defer cancel()
	id := t.Tick.Entry(t.Job, "").ID()
	runs, _ := t.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: t.Job.StoredAs(), Limit: most, Since: t.Tick.At, Before: t.Tick.At.Add(time.Millisecond),
	})
	return slices.DeleteFunc(slices.Clone(runs), func(run ledger.Entry) bool { return run.ID() != id })
}

// begun reports whether the ledger has a run of the tick.
func (t *task) begun() bool { return len(t.recorded(t.stops.Releases, 1)) > 0 }

// random is a random duration below limit.
func (t *task) random(limit time.Duration) time.Duration {
	return t.cfg.Random(t.Job.Name, t.Tick.At, limit)
}

// together is a duration below limit that is the same for everything that is due on this
// replica at one instant: so looking again takes one message, too.
func (t *task) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(t.spread()>>32)>>32)
}

// spread is a number for everything that is due on this replica at one instant.
func (t *task) spread() uint64 { return job.Weight("", t.Tick.Start, t.cfg.Replica) }
