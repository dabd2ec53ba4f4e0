// Package recorder writes what became of ticks that do not run to the ledger, in goroutines of
// its own.
package recorder

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

const (
	recordTimeout    = 5 * time.Second  // one try of one entry
	listTimeout      = 30 * time.Second // for the published versions of all jobs
	claimTime        = 5 * time.Second  // a claim that was begun in the window of its tick may take
	recordsAtOnce    = 256              // the driver sends those of a node together
	settleEvery      = time.Second      // ticks whose windows have closed meanwhile
	firstRecordRetry = 100 * time.Millisecond
	lastRecordRetry  = time.Second
	flushTimeout     = 2 * time.Second // for the rest at the end of Run
	// aheadPatience is how long a tick is tried again that the nodes refuse as ahead of
	// their clocks: this replica's clock is ahead. Beyond that the tick is left to replicas
	// that read the past.
	aheadPatience = time.Minute
)

// A decision is a tick that does not run. Its Entry has the name of the job for observers.
type decision struct {
	ledger.Entry
	key      string // the job's, in the ledger
	history  jobs.History
	until    time.Time // the end of the tick's window, in which another replica may run it
	early    bool      // it is missed, and came before this replica could run ticks
	notified bool      // the observer was notified of the first failure
	stored   bool      // the ledger has it; whether somebody ran the tick is still to be read
}

// Options are the parts and settings of a Recorder.
type Options struct {
	Replica  string
	Ledger   ledger.Store
	Archive  ledger.Archive // may be nil
	Roster   roster.Roster  // may be nil
	Observer event.Observer
	Settles  bool // notify the observer of settled ticks
	Limit    int  // of the ticks that wait to be stored, and of those that wait to be settled
	Now      func() time.Time
}

// A Recorder stores the outcomes of ticks without a run in the ledger, many at once. While
// no quorum answers they wait, so an outage is in the ledger after it. Beyond Options.Limit the
// oldest are dropped, each with an event that says so (event.ErrDropped): the ledger then has what
// replicas find in the past, or nobody hears that a recorded tick was missed.
type Recorder struct {
	Options

	// Since when the ticks of jobs are accounted for, by key, as last read for an early one. Only
	// deliver uses it.
	accounted map[string]time.Time

	mu      sync.Mutex
	ready   time.Time             // when this replica first could run ticks; zero: not yet
	queue   []decision            // not tried yet, oldest first
	left    []decision            // failed, oldest first
	open    map[string]unrecorded // by key of the job
	more    chan struct{}         // holds one element after something was added
	closing chan struct{}         // closed when nothing more comes
	ended   chan struct{}         // closed when Run has returned
}

// New returns a Recorder that does not run yet.
func New(o Options) *Recorder {
	return &Recorder{
		Options: o, open: map[string]unrecorded{}, more: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Decided records a tick that does not run. One that may still be caught up is not missed for a drain:
// no entry says so, and the next replica finds it in the past. Any goroutine may call it.
func (r *Recorder) Decided(j *job.Job, t job.Tick, v job.Verdict) {
	entry := t.Entry(j, r.Replica).Named(j.Name)
	entry.Outcome, entry.Reason = v.Outcome, v.Reason
	r.Observer(event.Event{Kind: event.Decided, Entry: entry})
	if v.Outcome == ledger.Missed && v.Reason.Code == ledger.CodeDrained && j.CatchesUp() && t.Latest.After(r.Now()) && t.Stream == "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.opened(j.StoredAs(), entry)
		return
	}
	r.add(j, entry, t.Until)
}

// Ready notes when this replica first could run ticks.
func (r *Recorder) Ready(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = at
}

// add queues a decision on j, whose window ends at until. Beyond the limit the oldest are dropped.
func (r *Recorder) add(j *job.Job, e ledger.Entry, until time.Time) {
	r.mu.Lock()
	early := e.Outcome == ledger.Missed && e.Stream == "" && (r.ready.IsZero() || !e.Tick.After(r.ready))
	r.queue = append(r.queue, decision{Entry: e, key: j.StoredAs(), history: j.History, until: until, early: early})
	r.opened(j.StoredAs(), e)
	dropped := r.overLimit()
	r.mu.Unlock()
	r.drop(dropped)
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// overLimit removes what is too much from what waits, the oldest first. The caller holds the lock.
func (r *Recorder) overLimit() (dropped []decision) {
	over := max(0, len(r.left)+len(r.queue)-r.Limit)
	ofLeft := min(over, len(r.left))
	dropped = slices.Concat(r.left[:ofLeft], r.queue[:over-ofLeft])
	r.left, r.queue = r.left[ofLeft:], r.queue[over-ofLeft:]
	return dropped
}

// drop tells the observer that nothing more comes of the decisions.
func (r *Recorder) drop(list []decision) {
	for _, d := range list {
		kind := event.Recorded
		if d.stored {
			kind = event.Settled
		}
		r.Observer(event.Event{Kind: kind, Entry: d.Entry, Err: event.ErrDropped})
	}
}

// Run stores what is added until ctx ends, or Flush was called and the queue is empty. It
// sends large batches; single entries once more than an eighth of a batch failed, and then
// one more after each batch without failures. Replicas must not send more requests when
// nodes stop answering.
func (r *Recorder) Run(ctx context.Context) {
	defer close(r.ended)
	var stored []decision // to be settled when their time comes
	for pause, size := firstRecordRetry, recordsAtOnce; ctx.Err() == nil; {
		batch := r.pop(size)
		for i := 0; i < len(stored) && len(batch) < size; {
			if d := stored[i]; r.mayRun(d) {
				i++
			} else {
				batch, stored = append(batch, d), slices.Delete(stored, i, i+1)
			}
		}
		if len(batch) == 0 {
			if !r.wait(ctx, stored) {
				break
			}
			continue
		}
		unrecorded, fresh := r.deliver(ctx, batch)
		r.mu.Lock()
		r.left = append(r.left, unrecorded...)
		dropped := r.overLimit()
		r.mu.Unlock()
		stored = append(stored, fresh...)
		over := max(0, len(stored)-r.Limit)
		r.drop(append(dropped, stored[:over]...))
		stored = stored[over:]
		switch failed := len(unrecorded); {
		case failed == 0:
			pause, size = firstRecordRetry, min(size+1, recordsAtOnce)
		case failed < len(batch):
			pause = firstRecordRetry
			if failed > len(batch)/8 {
				size = 1
			}
		default:
			size = 1
			select {
			case <-time.After(pause):
				pause = min(2*pause, lastRecordRetry)
			case <-r.closing: // a flush has no time for long pauses
				retry.Sleep(ctx, firstRecordRetry)
			case <-ctx.Done():
			}
		}
	}
	r.drop(slices.DeleteFunc(r.pop(r.Limit), func(d decision) bool { return d.stored })) // those are in the ledger
}

// Flush lets Run store what is queued, for a limited time. Afterwards Run's context may be
// ended.
func (r *Recorder) Flush() {
	close(r.closing)
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-r.ended:
	case <-timer.C:
	}
}

// mayRun reports whether another replica may still run the tick: in its window, or with a claim that
// was begun in it.
func (r *Recorder) mayRun(d decision) bool { return r.Now().Before(d.until.Add(claimTime)) }

// wait waits until something was added, or while ticks are to be settled for a second. It returns
// false when nothing will be added.
func (r *Recorder) wait(ctx context.Context, stored []decision) bool {
	var settle <-chan time.Time
	if len(stored) > 0 {
		settle = time.After(settleEvery)
	}
	select {
	case <-r.more:
		return true
	case <-settle:
		return true
	case <-r.closing:
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.queue) > 0
	case <-ctx.Done():
		return false
	}
}

// pop takes up to n decisions of those that wait: first those that were not tried yet.
func (r *Recorder) pop(n int) []decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	ofQueue := min(n, len(r.queue))
	ofLeft := min(n-ofQueue, len(r.left))
	list := slices.Concat(r.queue[:ofQueue], r.left[:ofLeft])
	r.queue, r.left = r.queue[ofQueue:], r.left[ofLeft:]
	return list
}

// deliver records a batch and returns the decisions to be tried again, and those that are to be
// settled later. It notifies the observer of the first failure and of the end of each.
func (r *Recorder) deliver(ctx context.Context, batch []decision) (again, fresh []decision) {
	errs, later := make([]error, len(batch)), make([]bool, len(batch))
	unread := r.readAccounts(ctx, batch)
	var working sync.WaitGroup
	for i, d := range batch {
		working.Go(func() {
			if d.early && !d.stored {
				if batch[i].stored, errs[i] = r.nobodys(ctx, d, unread); batch[i].stored || errs[i] != nil {
					return
				}
			}
			if !d.stored {
				var first bool
				if first, errs[i] = r.record(ctx, d); errs[i] != nil {
					return
				}
				r.Observer(event.Event{Kind: event.Recorded, Entry: d.Entry})
				r.recorded(d)
				if batch[i].stored = true; !first || !r.Settles {
					return
				}
			}
			if later[i] = r.mayRun(d); !later[i] {
				errs[i] = r.settle(ctx, d)
			}
		})
	}
	working.Wait()
	for i, d := range batch {
		if later[i] {
			fresh = append(fresh, d)
			continue
		}
		if d.stored {
			if errs[i] != nil && presence.Passing(errs[i]) {
				again = append(again, d)
			}
			continue
		}
		passing := presence.Passing(errs[i]) || errors.Is(errs[i], locking.ErrFuture) && r.Now().Sub(d.Tick) < aheadPatience
		if errs[i] != nil && (!passing || !d.notified) {
			r.Observer(event.Event{Kind: event.Recorded, Entry: d.Entry, Err: errs[i]})
		}
		if d.notified = true; passing {
			again = append(again, d)
		}
	}
	return again, fresh
}

// readAccounts reads since when the ticks of each job are accounted for, unless that is known to be
// before each early one. Another replica may have been ready since the last time.
func (r *Recorder) readAccounts(ctx context.Context, batch []decision) error {
	if r.Roster == nil || !slices.ContainsFunc(batch, func(d decision) bool { return d.early && !d.stored && !r.accountedFor(d) }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	published, err := r.Roster.Jobs(ctx)
	if err != nil {
		return err
	}
	r.accounted = map[string]time.Time{}
	for key, versions := range served.ByKey(published) {
		r.accounted[key] = served.AccountOf(versions).First
	}
	return nil
}

// accountedFor reports whether a replica could run the job before the tick, as far as was read.
func (r *Recorder) accountedFor(d decision) bool {
	first := r.accounted[d.key]
	return !first.IsZero() && first.Before(d.Tick)
}

// nobodys reports whether an early tick was missed by nobody, and forgets it: no replica could
// run the job before it, as far as the cluster knows. unread is why accounts could not be read.
func (r *Recorder) nobodys(ctx context.Context, d decision, unread error) (bool, error) {
	if r.accountedFor(d) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	before, err := r.Ledger.Ticks(ctx, ledger.Query{Job: d.key, Limit: 1, Before: d.Tick})
	if err != nil || len(before) > 0 || unread != nil {
		return false, cmp.Or(err, unread)
	}
	r.recorded(d)
	return true, nil
}

func (r *Recorder) record(ctx context.Context, d decision) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if first, err = r.Ledger.Record(ctx, d.Entry.Named(d.key)); err != nil {
		return false, err
	}
	if r.Archive != nil && d.history.Bounded() {
		// A failure keeps more than asked for, until the next time.
		_ = r.Archive.Store(ctx, d.key, d.history)
	}
	return first, nil
}

// settle notifies the observer of a tick that nobody ran and nobody can any more: this replica
// was the first to record it, and the ledger has no run of it. The event has the ledger's
// entry, which may be another replica's by now. Without an answer of the ledger nothing is known.
func (r *Recorder) settle(ctx context.Context, d decision) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	key := d.OrderKey()
	list, err := r.Ledger.Ticks(ctx, ledger.Query{Job: d.key, Limit: 10, Since: key, Before: key.Add(time.Millisecond)})
	if err != nil {
		return err
	}
	entry := d.Entry
	for _, known := range list {
		switch {
		case known.Stream != d.Stream:
		case known.Ran():
			return nil
		default:
			entry = known.Named(d.Job)
		}
	}
	r.Observer(event.Event{Kind: event.Settled, Entry: entry})
	return nil
}

// unrecorded counts scheduled ticks of a job that the ledger does not have yet, none before
// since. Those that it never will have stay counted, and those that a drain leaves to be caught up.
type unrecorded struct {
	n     int
	since time.Time
}

// opened counts a tick that is to be recorded. The caller holds the lock.
func (r *Recorder) opened(key string, e ledger.Entry) {
	if e.Stream != "" {
		return
	}
	open := r.open[key]
	if open.n++; open.n == 1 || e.Tick.Before(open.since) {
		open.since = e.Tick
	}
	r.open[key] = open
}

// recorded removes d from the count.
func (r *Recorder) recorded(d decision) {
	if d.Stream != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	open := r.open[d.key]
	if open.n--; open.n <= 0 {
		delete(r.open, d.key)
		return
	}
	r.open[d.key] = open
}

// Reduce limits the accounts to what the ledger has.
func (r *Recorder) Reduce(a presence.Accounts) presence.Accounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, open := range r.open {
		if until, ok := a.Until[key]; ok && open.since.Before(until) {
			a.Until[key] = open.since
		}
	}
	return a
}
