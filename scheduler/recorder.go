package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
)

const (
	recordTimeout    = 5 * time.Second // one try of one entry
	firstRecordRetry = 100 * time.Millisecond
	lastRecordRetry  = time.Second
	flushTimeout     = 2 * time.Second // what Run spends on the rest at its end
)

// A decision is that a tick of a job does not run. Its Entry has the name of the
// job, as observers know it.
type decision struct {
	Entry
	key     string // of the job in the ledger
	history History
}

// A recorder brings the outcomes of ticks without a run to the ledger, in order
// and without keeping anybody waiting. While no quorum answers they queue, so
// that an outage is in the ledger after it.
type recorder struct {
	ledger   Ledger
	archive  Archive
	observer Observer
	limit    int

	mu      sync.Mutex
	queue   []decision
	open    map[string]unrecorded // by key of the job
	more    chan struct{}         // holds one element after something was added
	closing chan struct{}         // closed when nothing more comes
	ended   chan struct{}         // closed when run has returned
}

func newRecorder(cfg Config) *recorder {
	return &recorder{
		ledger: cfg.Ledger, archive: cfg.Archive, observer: cfg.Observer, limit: cfg.RecordQueue,
		open: map[string]unrecorded{}, more: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// add queues what was decided of j. Beyond the limit the oldest are dropped.
func (r *recorder) add(j *Job, e Entry) {
	r.mu.Lock()
	r.queue = append(r.queue, decision{e, j.key(), j.History})
	r.opened(j.key(), e)
	over := max(0, len(r.queue)-r.limit)
	dropped := r.queue[:over:over]
	r.queue = r.queue[over:]
	r.mu.Unlock()
	for _, d := range dropped {
		r.observer.Recorded(d.Entry, ErrDropped)
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// run delivers what is added until ctx ends, or flush was called and the queue
// is empty.
func (r *recorder) run(ctx context.Context) {
	defer close(r.ended)
	for d, ok := r.next(ctx); ok; d, ok = r.next(ctx) {
		r.deliver(ctx, d)
	}
	for d, ok := r.pop(); ok; d, ok = r.pop() {
		r.observer.Recorded(d.Entry, ErrDropped)
	}
}

// flush lets run deliver what is queued, for a while. Afterwards run's context
// may be ended.
func (r *recorder) flush() {
	close(r.closing)
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-r.ended:
	case <-timer.C:
	}
}

// next waits for an entry. It returns false when none will come, or ctx ended.
func (r *recorder) next(ctx context.Context) (decision, bool) {
	for ctx.Err() == nil {
		if d, ok := r.pop(); ok {
			return d, true
		}
		select {
		case <-r.more:
		case <-r.closing:
			return r.pop()
		case <-ctx.Done():
		}
	}
	return decision{}, false
}

func (r *recorder) pop() (decision, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return decision{}, false
	}
	d := r.queue[0]
	r.queue = r.queue[1:]
	return d, true
}

// deliver records d, again and again while there is no quorum. The observer is
// told of the first failure and of the end.
func (r *recorder) deliver(ctx context.Context, d decision) {
	for pause := firstRecordRetry; ; pause = min(2*pause, lastRecordRetry) {
		err := r.record(ctx, d)
		if !errors.Is(err, locking.ErrNoQuorum) && !errors.Is(err, context.DeadlineExceeded) {
			r.observer.Recorded(d.Entry, err)
			if err == nil {
				r.recorded(d)
				r.settle(ctx, d)
			}
			return
		}
		if pause == firstRecordRetry {
			r.observer.Recorded(d.Entry, err)
		}
		if !sleep(ctx, pause) {
			r.observer.Recorded(d.Entry, errors.Join(ErrDropped, err))
			return
		}
	}
}

func (r *recorder) record(ctx context.Context, d decision) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := r.ledger.Record(ctx, d.named(d.key)); err != nil {
		return err
	}
	if r.archive != nil && d.history.bounded() {
		// Its failure leaves more than asked for, until the next time.
		_ = r.archive.Store(ctx, d.key, d.history)
	}
	return nil
}

// settle tells the observer of a tick that nobody ran if the ledger knows it
// from this replica. By then every node that answers has some replica's word, and
// keeps that, so all replicas read the same.
func (r *recorder) settle(ctx context.Context, d decision) {
	if r.observer.Settled == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	key := d.OrderKey()
	list, err := r.ledger.Ticks(ctx, Query{Job: d.key, Limit: 10, Since: key, Before: key.Add(time.Millisecond)})
	for _, known := range list {
		if known.Stream == d.Stream && (known.Outcome.Ran() || known.Replica != d.Replica) {
			return
		}
	}
	if err == nil || ctx.Err() == nil {
		r.observer.Settled(d.Entry)
	}
}
