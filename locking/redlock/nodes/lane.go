package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// laneWidth is how many requests of one script are under way at one node.
	laneWidth = 2
	// batchCalls bounds the calls in a request, so that the node is not busy with
	// it for longer than about a millisecond.
	batchCalls = 64
)

// errUnsent: the request waited in this process and was never sent, so the node
// knows nothing of it, and it says nothing of the node.
var errUnsent = errors.New("the request was not sent: it waited too long for earlier ones to the node")

// A lane carries the calls of one script to one node. A call goes out at once,
// alone, unless requests are under way already; then it waits, and goes out with
// all others that wait when one of those returns. So nobody waits for company,
// and the busier the node, the more calls share its effort.
type lane struct {
	wire   *wire
	script *Script

	// Guarded by the wire's mutex.
	busy    int
	waiting []*queued
}

// A queued call waits to be sent, then for its answer.
type queued struct {
	keys  []string
	args  []any
	since time.Time
	// left and sent are guarded by the wire's mutex: the caller is gone; the
	// request is under way, or was.
	left, sent bool

	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

func (q *queued) answer(value any, err error) {
	q.value, q.err = value, err
	close(q.done)
}

// call carries one call, and returns when ctx ends.
func (l *lane) call(ctx context.Context, keys []string, args []any) (any, error) {
	q := l.enter(keys, args)
	if q == nil {
		start := time.Now()
		v, err := l.wire.run(ctx, l.script.one, keys, args)
		l.leave(start, err)
		return v, err
	}
	select {
	case <-q.done:
		return q.value, q.err
	case <-ctx.Done():
		return nil, l.abandon(ctx, q)
	}
}

// enter returns nil if the call may go out at once, else what it waits in.
func (l *lane) enter(keys []string, args []any) *queued {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	if l.busy < laneWidth {
		l.busy++
		return nil
	}
	q := &queued{keys: keys, args: args, since: time.Now(), done: make(chan struct{})}
	l.waiting = append(l.waiting, q)
	if l.wire.closed {
		l.refuse(redis.ErrClosed)
	}
	return q
}

// abandon takes a call back whose time is over, and returns what that means.
func (l *lane) abandon(ctx context.Context, q *queued) error {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	q.left = true
	if q.sent {
		return ctx.Err()
	}
	return errUnsent
}

// leave makes room after a call that went out alone.
func (l *lane) leave(start time.Time, err error) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	l.judge(start, err)
	if len(l.waiting) > 0 {
		l.wire.wg.Go(l.drain)
	} else {
		l.busy--
	}
}

// drain sends what waits until nothing does.
func (l *lane) drain() {
	for batch := l.take(); len(batch) > 0; batch = l.take() {
		start := time.Now()
		err := l.send(batch)
		l.wire.mu.Lock()
		l.judge(start, err)
		l.wire.mu.Unlock()
	}
}

// take returns the next calls to be sent together: of one client's header, and
// not those that would have little time left for their answers. With nothing to
// send it makes room.
func (l *lane) take() []*queued {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	var batch []*queued
	n := 0
	for _, q := range l.waiting {
		if len(batch) == batchCalls || len(batch) > 0 && !sameHeader(batch[0], q) {
			break
		}
		n++
		switch {
		case q.left:
		case time.Since(q.since) > l.wire.timeout/2:
			q.answer(nil, errUnsent)
		default:
			q.sent = true
			batch = append(batch, q)
		}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	if len(batch) == 0 {
		l.busy--
	}
	return batch
}

// judge sends those who wait away after a request that was left unanswered for
// so long that theirs would be, too. The wire's mutex is held.
func (l *lane) judge(start time.Time, err error) {
	if _, answered := errors.AsType[redis.Error](err); l.wire.closed {
		l.refuse(redis.ErrClosed)
	} else if err != nil && !answered && time.Since(start) > l.wire.timeout/2 {
		l.refuse(fmt.Errorf("%w: %w", errUnsent, err))
	}
}

// refuse answers all that wait. The wire's mutex is held.
func (l *lane) refuse(err error) {
	for _, q := range l.waiting {
		q.answer(nil, err)
	}
	l.waiting = nil
}
