package scheduler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

const (
	recordTimeout    = 5 * time.Second // one try of one entry
	recordsAtOnce    = 256             // the driver sends those of a node together
	firstRecordRetry = 100 * time.Millisecond
	lastRecordRetry  = time.Second
	flushTimeout     = 2 * time.Second // what Run spends on the rest at its end
	// aheadPatience is how long after its time a tick is tried again that the nodes refuse
	// because it lies ahead of their clocks. It is this replica's clock that is ahead; one
	// that is further ahead leaves the tick to whoever looks up the past.
	aheadPatience = time.Minute
)

// A decision is that a tick of a job does not run. Its Entry has the name of the
// job, as observers know it.
type decision struct {
	ledger.Entry
	key     string // of the job in the ledger
	history ledger.History
	told    bool // the observer knows that the first try failed
}

// A recorder brings the outcomes of ticks without a run to the ledger, many at
// once, so that many do not wait for one another. While no quorum answers they
// queue, so that an outage is in the ledger after it.
type recorder struct {
	ledger   ledger.Store
	archive  ledger.Archive
	observer Observer
	settles  bool // the observer is told what is settled
	limit    int
	wall     func() time.Time

	mu      sync.Mutex
	queue   []decision
	open    map[string]unrecorded // by key of the job
	more    chan struct{}         // holds one element after something was added
	closing chan struct{}         // closed when nothing more comes
	ended   chan struct{}         // closed when run has returned
}

func newRecorder(cfg Config) *recorder {
	return &recorder{
		ledger: cfg.Ledger, archive: cfg.Archive, observer: cfg.Observer, settles: cfg.TellSettled,
		limit: cfg.RecordQueue, wall: cfg.Clock,
		open: map[string]unrecorded{}, more: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// add queues what was decided of j. Beyond the limit the oldest are dropped.
func (r *recorder) add(j *Job, e ledger.Entry) {
	r.mu.Lock()
	r.queue = append(r.queue, decision{Entry: e, key: j.key(), history: j.History})
	r.opened(j.key(), e)
	over := max(0, len(r.queue)-r.limit)
	dropped := r.queue[:over:over]
	r.queue = r.queue[over:]
	r.mu.Unlock()
	for _, d := range dropped {
		r.observer(Event{Kind: EventRecorded, Entry: d.Entry, Err: ErrDropped})
	}
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// run delivers what is added until ctx ends, or flush was called and the queue
// is empty. It sends many entries together, a single one once more than an eighth of
// them failed, and then one more each time none did: replicas must not send more
// requests when nodes stop answering.
func (r *recorder) run(ctx context.Context) {
	defer close(r.ended)
	var left []decision // were tried in vain, oldest first
	for pause, size := firstRecordRetry, recordsAtOnce; ctx.Err() == nil; {
		batch := r.pop(size)
		if n := min(size-len(batch), len(left)); n > 0 {
			batch, left = append(batch, left[:n]...), left[n:]
		}
		if len(batch) == 0 {
			if !r.wait(ctx) {
				break
			}
			continue
		}
		again := r.deliver(ctx, batch)
		left = append(left, again...)
		switch failed := len(again); {
		case failed == 0:
			pause, size = firstRecordRetry, min(size+1, recordsAtOnce)
		case failed < len(batch):
			pause = firstRecordRetry
			if failed > len(batch)/8 {
				size = 1
			}
		default:
			if size = 1; sleep(ctx, pause) {
				pause = min(2*pause, lastRecordRetry)
			}
		}
	}
	for _, d := range append(left, r.pop(r.limit)...) {
		r.observer(Event{Kind: EventRecorded, Entry: d.Entry, Err: ErrDropped})
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

// wait waits until something was added. It returns false when nothing will be.
func (r *recorder) wait(ctx context.Context) bool {
	select {
	case <-r.more:
		return true
	case <-r.closing:
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.queue) > 0
	case <-ctx.Done():
		return false
	}
}

// pop takes up to n from the queue, the oldest first.
func (r *recorder) pop(n int) []decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.queue))
	list := r.queue[:n:n]
	r.queue = r.queue[n:]
	return list
}

// deliver records a batch and returns those to be tried again, since no quorum
// answered. The observer is told of the first failure of each, and of the end.
func (r *recorder) deliver(ctx context.Context, batch []decision) []decision {
	errs := make([]error, len(batch))
	var working sync.WaitGroup
	for i, d := range batch {
		working.Go(func() {
			var first bool
			if first, errs[i] = r.record(ctx, d); errs[i] == nil {
				r.observer(Event{Kind: EventRecorded, Entry: d.Entry})
				r.recorded(d)
				if first && r.settles {
					r.settle(ctx, d)
				}
			}
		})
	}
	working.Wait()
	var again []decision
	for i, d := range batch {
		later := passing(errs[i]) || errors.Is(errs[i], locking.ErrFuture) && r.wall().Sub(d.Tick) < aheadPatience
		if errs[i] != nil && (!later || !d.told) {
			r.observer(Event{Kind: EventRecorded, Entry: d.Entry, Err: errs[i]})
		}
		if d.told = true; later {
			again = append(again, d)
		}
	}
	return again
}

func (r *recorder) record(ctx context.Context, d decision) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if first, err = r.ledger.Record(ctx, named(d.Entry, d.key)); err != nil {
		return false, err
	}
	if r.archive != nil && d.history.Bounded() {
		// Its failure leaves more than asked for, until the next time.
		_ = r.archive.Store(ctx, d.key, d.history)
	}
	return first, nil
}

// settle tells the observer of a tick that nobody ran: this replica was the first to
// record it, and the ledger has no run of it. What it tells is what the ledger has, which
// may be another replica's record by now.
func (r *recorder) settle(ctx context.Context, d decision) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	key := d.OrderKey()
	list, err := r.ledger.Ticks(ctx, ledger.Query{Job: d.key, Limit: 10, Since: key, Before: key.Add(time.Millisecond)})
	told := d.Entry
	for _, known := range list {
		switch {
		case known.Stream != d.Stream:
		case known.Outcome.Ran():
			return
		default:
			told = named(known, d.Job)
		}
	}
	if err == nil || ctx.Err() == nil {
		r.observer(Event{Kind: EventSettled, Entry: told})
	}
}
