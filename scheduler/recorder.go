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

// A recorder brings the outcomes of ticks without a run to the ledger, in order
// and without keeping anybody waiting. While no quorum answers they queue, so
// that an outage is in the ledger after it.
type recorder struct {
	ledger   Ledger
	observer Observer
	limit    int

	mu      sync.Mutex
	queue   []Entry
	more    chan struct{} // holds one element after something was added
	closing chan struct{} // closed when nothing more comes
	ended   chan struct{} // closed when run has returned
}

func newRecorder(cfg Config) *recorder {
	return &recorder{
		ledger: cfg.Ledger, observer: cfg.Observer, limit: cfg.RecordQueue,
		more: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// add queues e. Beyond the limit the oldest entries are dropped.
func (r *recorder) add(e Entry) {
	r.mu.Lock()
	r.queue = append(r.queue, e)
	over := max(0, len(r.queue)-r.limit)
	dropped := r.queue[:over:over]
	r.queue = r.queue[over:]
	r.mu.Unlock()
	for _, d := range dropped {
		r.observer.Recorded(d, ErrDropped)
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
	for e, ok := r.next(ctx); ok; e, ok = r.next(ctx) {
		r.deliver(ctx, e)
	}
	for e, ok := r.pop(); ok; e, ok = r.pop() {
		r.observer.Recorded(e, ErrDropped)
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
func (r *recorder) next(ctx context.Context) (Entry, bool) {
	for ctx.Err() == nil {
		if e, ok := r.pop(); ok {
			return e, true
		}
		select {
		case <-r.more:
		case <-r.closing:
			return r.pop()
		case <-ctx.Done():
		}
	}
	return Entry{}, false
}

func (r *recorder) pop() (Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return Entry{}, false
	}
	e := r.queue[0]
	r.queue = r.queue[1:]
	return e, true
}

// deliver records e, again and again while there is no quorum. The observer is
// told of the first failure and of the end.
func (r *recorder) deliver(ctx context.Context, e Entry) {
	for pause := firstRecordRetry; ; pause = min(2*pause, lastRecordRetry) {
		err := r.record(ctx, e)
		if !errors.Is(err, locking.ErrNoQuorum) && !errors.Is(err, context.DeadlineExceeded) {
			r.observer.Recorded(e, err)
			return
		}
		if pause == firstRecordRetry {
			r.observer.Recorded(e, err)
		}
		if !sleep(ctx, pause) {
			r.observer.Recorded(e, errors.Join(ErrDropped, err))
			return
		}
	}
}

func (r *recorder) record(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return r.ledger.Record(ctx, e)
}
