package nodes

import (
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

// enter lets a call wait, or has the lane's place for a request taken for it:
// then the caller must see to it that carryOn or carryOne is called.
func (l *lane) enter(q *queued) (goesOut bool) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	q.since = time.Now()
	switch {
	case l.wire.closed:
		q.answer(nil, redis.ErrClosed)
		return false
	case l.busy < laneWidth:
		l.busy++
		q.sent = true
		l.wire.wg.Add(1) // carryOn and carryOne give it back
		return true
	}
	l.waiting = append(l.waiting, q)
	return false
}

// carryOn sends the call, if there is one, then what waits until nothing does.
func (l *lane) carryOn(q *queued) {
	defer l.wire.wg.Done()
	if q != nil {
		l.send([]*queued{q})
	}
	for batch := l.take(); len(batch) > 0; batch = l.take() {
		l.send(batch)
	}
}

// carryOne sends the call, and leaves what waits then to others.
func (l *lane) carryOne(q *queued) {
	l.send([]*queued{q})
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	if len(l.waiting) > 0 {
		l.wire.start(task{lane: l})
		return
	}
	l.busy--
	l.wire.wg.Done()
}

// take returns the next calls to be sent together: of one client's header, and
// not those that have waited for too long. With nothing to send it makes room.
func (l *lane) take() []*queued {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	var batch []*queued
	n, now := 0, time.Now()
	for _, q := range l.waiting {
		if len(batch) == batchCalls || len(batch) > 0 && !sameHeader(batch[0], q) {
			break
		}
		n++
		switch {
		case q.left:
		case now.Sub(q.since) > l.patience(q):
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

// patience is how long a call waits for being sent. Where enough other nodes have
// answered, this one is the slow one, and the caller does not wait for it much
// longer; else all are slow, or this process is, and whoever gives up only has to
// begin anew.
func (l *lane) patience(q *queued) time.Duration {
	if q.round.enough() {
		return l.wire.timeout / 2
	}
	return max(l.wire.timeout/2, l.wire.patience)
}

// dismiss sends those who wait away after a request that was left unanswered for
// so long that theirs would be, too. The wire's mutex is held.
func (l *lane) dismiss(silence error) {
	if l.wire.closed {
		l.refuse(redis.ErrClosed)
	} else if silence != nil {
		l.refuse(fmt.Errorf("%w: %w", errUnsent, silence))
	}
}

// refuse answers all that wait. The wire's mutex is held.
func (l *lane) refuse(err error) {
	for _, q := range l.waiting {
		q.answer(nil, err)
	}
	l.waiting = nil
}
