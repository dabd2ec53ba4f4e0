package attempt

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config.MaxRunning bounds the runs of a replica. An attempt needs a run permit before each try
// to claim. Without one it leaves the tick to other replicas. It keeps the run permit until the
// function has returned, which may be later than the end of the lease. It has none between
// two tries, so nobody waits for a waiting attempt.

// A quota bounds how many attempts of a replica have a permit at once, and orders those that
// wait. Any goroutine may use it.
type quota struct {
	mu      sync.Mutex
	limit   int // the number of permits
	taken   int // permits in use; may exceed the limit for a while
	waiting waiters
}

// A waiter is an attempt that waits for a permit of a quota.
type waiter struct {
	assignment *Assignment
	given      chan struct{} // closed when it has its permit
	index      int           // in the heap; negative when it is no longer there
}

// newRunPermits returns the quota of Config.MaxRunning, nil if there is none.
func newRunPermits(most int) *quota {
	if most == 0 {
		return nil
	}
	return &quota{limit: most, waiting: waiters{order: Order}}
}

// acquire gives an attempt a permit and returns nil, or returns its waiter.
func (q *quota) acquire(b *Assignment) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken < q.limit {
		q.taken++
		return nil
	}
	w := &waiter{assignment: b, given: make(chan struct{})}
	heap.Push(&q.waiting, w)
	return w
}

// release returns a permit. The first waiter gets it.
func (q *quota) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	q.grant()
}

// giveUp removes a waiter. If it has just got a permit, the next one gets it.
func (q *quota) giveUp(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&q.waiting, w.index)
		return
	}
	q.taken--
	q.grant()
}

// grant gives free permits to waiters. The caller holds the mutex.
func (q *quota) grant() {
	for len(q.waiting.list) > 0 && q.taken < q.limit {
		q.taken++
		close(heap.Pop(&q.waiting).(*waiter).given)
	}
}

// waiters is a heap: the attempt that goes first, first.
type waiters struct {
	list  []*waiter
	order func(a, b *Assignment) int
}

func (h *waiters) Len() int { return len(h.list) }

func (h *waiters) Less(i, j int) bool { return h.order(h.list[i].assignment, h.list[j].assignment) < 0 }

func (h *waiters) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(h.list)
	h.list = append(h.list, w)
}

func (h *waiters) Pop() any {
	last := len(h.list) - 1
	w := h.list[last]
	h.list[last], w.index = nil, -1
	h.list = h.list[:last]
	return w
}

// Order orders attempts that wait at a limit: backfills last, then by priority, then by
// tick.
func Order(a, b *Assignment) int {
	return cmp.Or(
		cmp.Compare(a.backfillOrder(), b.backfillOrder()),
		cmp.Compare(b.Job.Priority, a.Job.Priority),
		a.Tick.Start.Compare(b.Tick.Start),
		strings.Compare(a.Job.Name, b.Job.Name),
	)
}

// Config.MaxClaims bounds a replica's concurrent tries to claim. When thousands of ticks
// come at one instant, the others wait for a claim permit, in the order of their ranks. So each
// replica first claims the ticks for which it is first, and comes to the others when most
// of them are decided. The head start of the first replica thus grows with the load.
// Extensions, releases and slots of claimed ticks need no claim permit.
//
// There are fewer claim permits while nodes do not answer, since they may be overloaded. Each
// silence halves them, down to one; as many answers as there are permits add one. So retries
// do not keep nodes overloaded.

// claimPermits are those of a replica. Any goroutine may use them.
type claimPermits struct {
	most  int         // Config.MaxClaims
	fewer atomic.Bool // the limit is below

	quota             // its mutex also guards what follows
	answers int       // since the limit was changed
	halved  time.Time // when it was last
}

func newClaimPermits(most int) *claimPermits {
	return &claimPermits{most: most, quota: quota{limit: most, waiting: waiters{order: claimOrder}}}
}

// note adapts the number of permits to the result of a try or a look that began at that time.
func (p *claimPermits) note(begun time.Time, err error) {
	silent := unanswered(err)
	if !silent && !p.fewer.Load() {
		return // the usual case
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case silent && begun.Before(p.halved): // once for all that were under way together
		return
	case silent:
		p.limit, p.answers, p.halved = max(1, p.limit/2), 0, time.Now()
	default:
		if p.answers++; p.answers >= p.limit && p.limit < p.most {
			p.limit++
			p.answers = 0
			p.grant()
		}
	}
	p.fewer.Store(p.limit < p.most)
}

// claimOrder orders attempts that wait for a claim permit.
func claimOrder(a, b *Assignment) int { return cmp.Or(cmp.Compare(a.rank, b.rank), Order(a, b)) }

// A run takes a slot of its group after it has claimed its tick. Otherwise every replica
// would take a slot for every tick, and twenty replicas would fill any group with ticks
// that they then lose. While it waits, it keeps the claim, so no other replica waits for
// the same tick. Two things follow. A tick whose window closes while its group is full is
// given back unused, and skipped. If the replica dies while it waits, the tick stays
// claimed without a call of the function: it is interrupted like a run, and is rerun if the
// job's OnCrash says so.
//
// The larger priority goes first on each replica. Replicas do not know who waits on others:
// there it only has a head start, since smaller priorities begin later and ask less often.

// takeSlot waits for a slot of the job's group, as long as for an earlier run of the job:
// within the tick's window, or until the next tick if the overlap policy says so. It returns
// false, with the verdict, if there is none; and no slot if the job has no group.
func (a *attempt) takeSlot(run *Run) (slot locking.Lease, ok bool) {
	b, w := a.assignment, &a.window
	if b.Job.Group == "" {
		return nil, true
	}
	k := locking.Keep(b.runCtx, run.lease, run.keeping())
	defer k.Stop()
	ctx, stop := context.WithCancelCause(k.Context())
	defer stop(nil)
	// The drain does not end it: the other replicas know that the tick is claimed, and do
	// not return to it.
	defer context.AfterFunc(b.waitCtx, func() {
		if cause := context.Cause(b.waitCtx); !errors.Is(cause, jobs.ErrDraining) {
			stop(cause)
		}
	})()
	var err error = &fullError{group: b.Job.Group, size: b.Job.GroupSize, behind: true}
	for tries := 1; ; tries++ {
		queue := a.loop.Consult(Progress{Phase: Queuing}).Slots
		if tries == 1 { // jobs with larger priorities have a head start
			if !w.waitForSlot(ctx, Stagger(a.deps.cfg.Stagger, 3*queue.Above, w.remaining()), err) {
				return nil, w.stop(b.slotWaitEnded(ctx, err))
			}
		}
		begun := time.Now()
		if !queue.NotFirst {
			if slot, err = a.deps.trySlots(ctx, b, tries > 1); err == nil {
				return slot, true
			}
		}
		w.keepOpen()
		in := time.Duration(1+queue.Above) * w.retryDelay(tries, time.Since(begun), nil, a.random)
		if in >= w.remaining() && !b.patient() { // whose window is extended repeatedly
			return nil, w.stop(noSlot(err, b.Tick))
		}
		a.notify(event.Event{Kind: event.Retrying, Err: err, In: in})
		if !w.waitForSlot(ctx, in, err) {
			return nil, w.stop(b.slotWaitEnded(ctx, err))
		}
	}
}

// waitForSlot waits before the next round, after one that ended with refused. It returns
// false when ctx has ended, or when it yields to a later tick.
func (w *window) waitForSlot(ctx context.Context, d time.Duration, refused error) bool {
	later := w.assignment.overtook
	if !w.yields(noSlot(refused, w.assignment.Tick).Outcome) {
		later = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-later:
	case <-ctx.Done():
	}
	return false
}

// slotWaitEnded is the verdict on a tick that no longer waits for a slot.
func (b *Assignment) slotWaitEnded(ctx context.Context, refused error) job.Verdict {
	paused := b.PauseVerdict()
	switch cause := context.Cause(ctx); {
	case paused.Kind == job.Settled:
		return paused
	case cause == nil: // a later tick came
		return noSlot(refused, b.Tick)
	case errors.Is(cause, ErrRemoved):
		return job.SkippedFor(ledger.CodeRemoved)
	case errors.Is(cause, locking.ErrLeaseLost):
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantWaiting, Details: &ledger.Details{Of: b.Job.Group}})
	case errors.Is(cause, jobs.ErrCancelled):
		return job.Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeCancelled, Variant: ledger.VariantWaiting, Details: &ledger.Details{Of: b.Job.Group}})
	default:
		return job.MissedFor(ledger.CodeDrained)
	}
}

// trySlots asks for each slot of the group once. The first one depends on replica and tick,
// so concurrent attempts ask for different slots. waits: it has asked before.
func (d *Deps) trySlots(ctx context.Context, b *Assignment, waits bool) (locking.Lease, error) {
	j, cfg := b.Job, &d.cfg
	full := &fullError{group: j.Group, size: j.GroupSize}
	first := job.Weight(j.StoredAs(), b.Tick.At, cfg.Replica) % uint64(full.size)
	for i := range full.size {
		lease, err := cfg.Locker.TryAcquire(ctx, locking.Request{
			Name: job.SlotName(full.group, (int(first)+i)%full.size), TTL: cfg.TTL,
			Holder: cfg.Replica + " for " + j.Name, Waiting: waits,
		})
		switch {
		case err == nil && locking.Expired(time.Now(), lease.Deadline().Add(-cfg.SafetyMargin)):
			d.void(lease)
			return nil, locking.ErrTooSlow
		case err == nil:
			return lease, nil
		case errors.Is(err, locking.ErrUnclaimed): // nobody has the slot yet
		case errors.Is(err, locking.ErrTaken):
			full.holders = append(full.holders, job.OrAnotherReplica(claimant(err)))
		case !errors.Is(err, locking.ErrSplit):
			return nil, err
		}
	}
	return nil, full
}

// freeSlot releases the slot, if any.
func (x *execution) freeSlot() {
	if x.slot == nil {
		return
	}
	slot := x.slot
	x.slot = nil
	ctx, cancel := context.WithTimeout(x.run.deps.stops.Releases, lateRelease)
	defer cancel()
	// A failure changes nothing here: the lease expires.
	_ = slot.Release(ctx, nil)
}

// A fullError says that a group has no free slot.
type fullError struct {
	group   string
	size    int
	holders []string // of the slots that are held
	behind  bool     // not asked: others on this replica go first
}

func (e *fullError) Error() string { return e.reason().String() }

// reason is why a tick is skipped.
func (e *fullError) reason() ledger.Reason {
	d := ledger.Details{Of: e.group, N: len(e.holders), Most: e.size, Holder: strings.Join(slices.Sorted(slices.Values(e.holders)), ", ")}
	switch {
	case e.behind:
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantInLine, Details: &d}
	case d.N < d.Most: // other replicas try for the rest at this moment
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantTaken, Details: &d}
	}
	return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantFull, Details: &d}
}

// noSlot is the verdict on a tick whose window closes; err was the last refusal of a slot.
func noSlot(err error, t job.Tick) job.Verdict {
	if full, ok := errors.AsType[*fullError](err); ok {
		return job.Because(ledger.Skipped, full.reason())
	}
	v := atWindowEnd(err, t)
	unasked := v.Reason
	v.Reason = ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantSlot, Details: &ledger.Details{With: &unasked}}
	return v
}

// tenure returns the leases of the run: that of its job, and that of its slot, if any. The
// run ends before the earlier one.
func (x *execution) tenure() locking.Tenure {
	if x.slot == nil {
		return x.run.lease
	}
	return pair{job: x.run.lease, slot: x.slot}
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
	if _, lost := errors.AsType[*slotError](cause); lost || x.slot.Deadline().Before(x.run.lease.Deadline()) {
		return ledger.Reason{Code: ledger.CodeLost, Variant: ledger.VariantSlot, Details: &ledger.Details{Of: x.slot.Claim().Name}}
	}
	return ledger.Reason{}
}
