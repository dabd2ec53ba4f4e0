package attempt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// tenure returns the leases of the run: that of its job, and that of its slot, if any. The
// run ends before the earlier one.
func (x *execution) tenure() locking.Tenure {
	if x.slot == nil {
		return x.lease
	}
	return pair{job: x.lease, slot: x.slot}
}

type pair struct{ job, slot locking.Lease }

// Deadline implements locking.Tenure.
func (p pair) Deadline() time.Time {
	if job, slot := p.job.Deadline(), p.slot.Deadline(); job.Before(slot) {
		return job
	}
	return p.slot.Deadline()
}

// Extend implements locking.Tenure. It extends both at once: slow nodes of a slot must not
// cost the job's lease.
func (p pair) Extend(ctx context.Context) error {
	var job, slot error
	var wg sync.WaitGroup
	wg.Go(func() { job = p.job.Extend(ctx) })
	wg.Go(func() {
		if err := p.slot.Extend(ctx); err != nil {
			slot = &slotError{name: p.slot.Claim().Name, err: err}
		}
	})
	wg.Wait()
	return errors.Join(job, slot)
}

// LastPoll implements locking.Polled, for the lease of the job.
func (p pair) LastPoll() locking.Poll {
	if polled, ok := p.job.(locking.Polled); ok {
		return polled.LastPoll()
	}
	return locking.Poll{}
}

// A slotError is a failed extension of the slot.
type slotError struct {
	name string
	err  error
}

func (e *slotError) Error() string { return fmt.Sprintf("slot %s: %v", e.name, e.err) }
func (e *slotError) Unwrap() error { return e.err }

// slotLost returns the reason of a run that lost its slot for cause, zero if it lost the
// job's lease.
func (x *execution) slotLost(cause error) ledger.Reason {
	if x.slot == nil {
		return ledger.Reason{}
	}
	if _, lost := errors.AsType[*slotError](cause); lost || x.slot.Deadline().Before(x.lease.Deadline()) {
		return ledger.Reason{Code: ledger.CodeLost, Variant: ledger.VariantSlot, Details: &ledger.Details{Of: x.slot.Claim().Name}}
	}
	return ledger.Reason{}
}
