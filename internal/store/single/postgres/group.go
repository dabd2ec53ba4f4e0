package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Calls that arrive while others are under way are sent together, as databases commit in
// groups. Nobody waits for company: a call that finds less than mostGroups under way is sent at
// once, by its caller. A group is made when it has a connection, and then takes no more members: so
// each call begins before its statement does.

// Bounds of groups.
const (
	mostGroups  = 2       // under way, of each kind of call
	mostWaiting = 20_000  // calls that wait for their group
	mostKeys    = 128     // in a group; each takes a place in the server's table of locks
	mostBytes   = 1 << 20 // in a group
	// unbounded is how long a group may wait for an answer to a member without a deadline.
	unbounded = 30 * time.Second
)

// errTooManyWait is why a call was not sent.
var errTooManyWait = errors.New("20000 calls wait for the server")

// A member is a call that may be sent together with others.
type member[Ask, Answer any] struct {
	ask     Ask
	keys    []kv.Key
	bytes   int
	urgency kv.Urgency
	// ctx is the caller's. It ends the call, but not its group.
	ctx context.Context //nolint:containedctx // it waits in a queue

	sent bool // it is in a group, or goes alone; guarded by the queue's mutex
	gone bool // its caller has gone before that; guarded alike

	// Set before over is closed, by the one who sends the group.
	answer Answer
	err    error
	alone  bool // there is neither answer nor err, and its caller sends it alone
	over   chan struct{}
}

// left is how long the caller waits for the answer.
func (m *member[_, _]) left() time.Duration {
	if until, bounded := m.ctx.Deadline(); bounded {
		return time.Until(until)
	}
	return unbounded
}

// A queue holds the calls of one kind that wait for their group.
type queue[Ask, Answer any] struct {
	// connect returns what sends a group by a connection of its own, and sets what each member gets.
	// Short says that the server had too few places for the keys: the next groups are smaller then. It is
	// called once, perhaps with nobody.
	connect func(context.Context) (send func(context.Context, []*member[Ask, Answer]) (short bool), err error)
	// unsent is the error of a call whose context has ended before it was sent.
	unsent func(error) error
	// least is what a member must have left to be sent with others: their answer may take longer.
	least    time.Duration
	connects time.Duration // bounds the wait for a connection

	mu       sync.Mutex
	waiting  [kv.Urgencies][]*member[Ask, Answer] // the most urgent last, each in the order of arrival
	count    int                                  // of those that wait and have not gone
	underWay int
	most     int // keys in a group; at most mostKeys
	running  sync.WaitGroup
}

// do sends a call, with others that wait. With alone it has not been decided, and the caller sends it
// alone.
func (q *queue[Ask, Answer]) do(m *member[Ask, Answer]) (alone bool, err error) {
	q.mu.Lock()
	switch {
	case q.count == 0 && q.underWay < mostGroups && len(m.keys) <= q.most:
		q.underWay++
		q.mu.Unlock()
		q.carry(m.ctx, func() []*member[Ask, Answer] { return []*member[Ask, Answer]{m} })
		return m.alone, m.err
	case q.count == mostWaiting:
		q.mu.Unlock()
		return false, notSent{errTooManyWait}
	}
	m.over = make(chan struct{})
	q.waiting[m.urgency] = append(q.waiting[m.urgency], m)
	q.count++
	q.begin()
	q.mu.Unlock()
	select {
	case <-m.over:
		return m.alone, m.err
	case <-m.ctx.Done():
	}
	if q.leave(m) {
		return false, notSent{q.unsent(m.ctx.Err())}
	}
	select {
	case <-m.over: // both at once: the answer is worth more
		return m.alone, m.err
	default:
		return false, m.ctx.Err()
	}
}

// leave takes a member that was not sent out of the queue.
func (q *queue[Ask, Answer]) leave(m *member[Ask, Answer]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !m.sent {
		m.gone = true
		m.ask = *new(Ask) // it may be large
		q.count--
	}
	return m.gone
}

// begin starts groups while calls wait and places are free. The caller holds the lock.
func (q *queue[Ask, Answer]) begin() {
	for n := q.count; n > 0 && q.underWay < mostGroups; n-- {
		q.underWay++
		q.running.Go(func() {
			for _, m := range q.carry(context.Background(), q.take) {
				close(m.over)
			}
		})
	}
}

// carry sends a group, and begins another if calls have come meanwhile. When it has a connection, it
// calls gather for the members. The context ends all that it does.
func (q *queue[Ask, Answer]) carry(ctx context.Context, gather func() []*member[Ask, Answer]) []*member[Ask, Answer] {
	connecting, stop := context.WithTimeout(ctx, q.connects)
	send, err := q.connect(connecting)
	stop()
	group := gather()
	longest, short := time.Duration(0), false
	for _, m := range group {
		m.err = err
		longest = max(longest, m.left())
	}
	if err == nil {
		sending, cancel := context.WithTimeout(ctx, longest)
		short = send(sending, group)
		cancel()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.most = min(q.most+1, mostKeys); short {
		q.most /= 2
	}
	q.underWay--
	q.begin()
	return group
}

// take removes the next group from the queue: as many as fit, the most urgent first. Those that no
// group suits go alone.
func (q *queue[Ask, Answer]) take() (group []*member[Ask, Answer]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys, bytes := map[kv.Key]bool{}, 0
	for u := len(q.waiting) - 1; u >= 0; u-- {
		for len(q.waiting[u]) > 0 {
			m := q.waiting[u][0]
			if m.gone {
				q.waiting[u] = q.waiting[u][1:]
				continue
			}
			fresh := 0
			for _, k := range m.keys {
				if !keys[k] {
					fresh++
				}
			}
			alone := len(m.keys) > q.most || m.left() < q.least
			if !alone && len(group) > 0 && (len(keys)+fresh > q.most || bytes+m.bytes > mostBytes) {
				return group
			}
			q.waiting[u] = q.waiting[u][1:]
			m.sent = true
			q.count--
			if alone {
				m.alone = true
				close(m.over)
				continue
			}
			for _, k := range m.keys {
				keys[k] = true
			}
			bytes += m.bytes
			group = append(group, m)
		}
	}
	return group
}

// close waits for the groups under way. No call may follow.
func (q *queue[_, _]) close() { q.running.Wait() }
