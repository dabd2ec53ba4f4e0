// Package groups sends calls of a store together that arrive while others are under way, as
// databases commit in groups. Nobody waits for company: a call that finds less than [MostUnderWay]
// groups under way is sent at once, by its caller. A group is made when it has a connection, and then
// takes no more members: so each call begins before its statement does.
package groups

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Bounds of groups.
const (
	MostUnderWay = 2       // under way, of each kind of call
	mostWaiting  = 20_000  // calls that wait for their group
	MostKeys     = 128     // in a group; each takes a place in the server's table of locks
	MostBytes    = 1 << 20 // in a group
	// unbounded is how long a group may wait for an answer to a member without a deadline.
	unbounded = 30 * time.Second
)

// Unsent is why a call was not sent.
type Unsent struct{ Err error }

func (e Unsent) Error() string { return e.Err.Error() }

func (e Unsent) Unwrap() error { return e.Err }

// errTooManyWait is why a call was not sent.
var errTooManyWait = errors.New("20000 calls wait for the server")

// A Member is a call that may be sent together with others.
type Member[Ask, Answer any] struct {
	Ask     Ask
	Keys    []kv.Key
	Bytes   int
	Urgency kv.Urgency
	// Ctx is the caller's. It ends the call, but not its group.
	Ctx context.Context //nolint:containedctx // it waits in a queue

	sent bool // it is in a group, or goes alone; guarded by the queue's mutex
	gone bool // its caller has gone before that; guarded alike

	// Set before over is closed, by the one who sends the group.
	Answer Answer
	Err    error
	Alone  bool // there is neither Answer nor Err, and its caller sends it alone
	over   chan struct{}
}

// left is how long the caller waits for the answer.
func (m *Member[_, _]) left() time.Duration {
	if until, bounded := m.Ctx.Deadline(); bounded {
		return time.Until(until)
	}
	return unbounded
}

// A Queue holds the calls of one kind that wait for their group.
type Queue[Ask, Answer any] struct {
	// Connect returns what sends a group by a connection of its own, and sets what each member gets.
	// Short says that the server had too few places for the keys: the next groups are smaller then. It is
	// called once, perhaps with nobody.
	Connect func(context.Context) (send func(context.Context, []*Member[Ask, Answer]) (short bool), err error)
	// Unsent is the error of a call whose context has ended before it was sent.
	Unsent func(error) error
	// Least is what a member must have left to be sent with others: their answer may take longer.
	Least    time.Duration
	Connects time.Duration // bounds the wait for a connection

	mu       sync.Mutex
	waiting  [kv.Urgencies][]*Member[Ask, Answer] // the most urgent last, each in the order of arrival
	count    int                                  // of those that wait and have not gone
	underWay int
	fewer    int // than MostKeys are in a group
	running  sync.WaitGroup
}

// Do sends a call, with others that wait. With alone it has not been decided, and the caller sends it
// alone.
func (q *Queue[Ask, Answer]) Do(m *Member[Ask, Answer]) (alone bool, err error) {
	q.mu.Lock()
	switch {
	case q.count == 0 && q.underWay < MostUnderWay && len(m.Keys) <= q.most():
		q.underWay++
		q.mu.Unlock()
		q.carry(m.Ctx, func() []*Member[Ask, Answer] { return []*Member[Ask, Answer]{m} })
		return m.Alone, m.Err
	case q.count == mostWaiting:
		q.mu.Unlock()
		return false, Unsent{errTooManyWait}
	}
	m.over = make(chan struct{})
	q.waiting[m.Urgency] = append(q.waiting[m.Urgency], m)
	q.count++
	q.begin()
	q.mu.Unlock()
	select {
	case <-m.over:
		return m.Alone, m.Err
	case <-m.Ctx.Done():
	}
	if q.leave(m) {
		return false, Unsent{q.Unsent(m.Ctx.Err())}
	}
	select {
	case <-m.over: // both at once: the answer is worth more
		return m.Alone, m.Err
	default:
		return false, m.Ctx.Err()
	}
}

// leave takes a member that was not sent out of the queue.
func (q *Queue[Ask, Answer]) leave(m *Member[Ask, Answer]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !m.sent {
		m.gone = true
		m.Ask = *new(Ask) // it may be large
		q.count--
	}
	return m.gone
}

// begin starts groups while calls wait and places are free. The caller holds the lock.
func (q *Queue[Ask, Answer]) begin() {
	for n := q.count; n > 0 && q.underWay < MostUnderWay; n-- {
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
func (q *Queue[Ask, Answer]) carry(ctx context.Context, gather func() []*Member[Ask, Answer]) []*Member[Ask, Answer] {
	connecting, stop := context.WithTimeout(ctx, q.Connects)
	send, err := q.Connect(connecting)
	stop()
	group := gather()
	longest, short := time.Duration(0), false
	for _, m := range group {
		m.Err = err
		longest = max(longest, m.left())
	}
	if err == nil {
		sending, cancel := context.WithTimeout(ctx, longest)
		short = send(sending, group)
		cancel()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fewer = max(q.fewer-1, 0); short {
		q.fewer = MostKeys - q.most()/2
	}
	q.underWay--
	q.begin()
	return group
}

// most is how many keys a group has at most.
func (q *Queue[_, _]) most() int { return MostKeys - q.fewer }

// take removes the next group from the queue: as many as fit, the most urgent first. Those that no
// group suits go alone.
func (q *Queue[Ask, Answer]) take() (group []*Member[Ask, Answer]) {
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
			for _, k := range m.Keys {
				if !keys[k] {
					fresh++
				}
			}
			alone := len(m.Keys) > q.most() || m.left() < q.Least
			if !alone && len(group) > 0 && (len(keys)+fresh > q.most() || bytes+m.Bytes > MostBytes) {
				return group
			}
			q.waiting[u] = q.waiting[u][1:]
			m.sent = true
			q.count--
			if alone {
				m.Alone = true
				close(m.over)
				continue
			}
			for _, k := range m.Keys {
				keys[k] = true
			}
			bytes += m.Bytes
			group = append(group, m)
		}
	}
	return group
}

// Close waits for the groups under way. No call may follow.
func (q *Queue[_, _]) Close() { q.running.Wait() }
