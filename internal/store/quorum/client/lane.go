package client

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// laneWidth is how many requests of one script may be in flight at one node.
	laneWidth = 2
	// batchCalls bounds the calls in a request, so it keeps the node busy for about a
	// millisecond at most.
	batchCalls = 64
)

// A lane carries the calls of one script to one node. A call is sent at once and alone,
// unless laneWidth requests are in flight. Then it waits until one of them returns, and
// is sent together with all other waiting calls.
type lane struct {
	client *client
	script *Script

	// Guarded by the client's mutex.
	busy    int
	waiting []*call
}

// lane returns the lane of the script. The mutex must be held.
func (c *client) lane(script *Script) *lane {
	l := c.lanes[script]
	if l == nil {
		l = &lane{client: c, script: script}
		c.lanes[script] = l
	}
	return l
}

// enter sends a call of the script, or queues it.
func (c *client) enter(script *Script, q *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q.lane, q.since = c.lane(script), time.Now()
	switch {
	case c.closed:
		q.unsent(redis.ErrClosed)
	case q.lane.busy < laneWidth:
		q.lane.busy++
		c.carry(q)
	default:
		q.lane.waiting = append(q.lane.waiting, q)
	}
}

// carryAll sends the call, then the waiting calls until there are none. It writes the
// requests into words and returns it, since it may grow.
func (l *lane) carryAll(q *call, words []any) []any {
	for batch := []*call{q}; len(batch) > 0; batch = l.take() {
		words = l.send(batch, words)
	}
	return words
}

// take returns the next calls to send together. They have the same header. Calls that
// have waited too long fail. If there is nothing to send, it frees its place.
func (l *lane) take() []*call {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	var batch []*call
	n, now := 0, time.Now()
	for _, q := range l.waiting {
		if len(batch) == batchCalls || len(batch) > 0 && !sameHeader(batch[0], q) {
			break
		}
		n++
		if now.Sub(q.since) > l.patience(q) {
			q.unsent(errUnsent)
		} else {
			batch = append(batch, q)
		}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	if len(batch) == 0 {
		l.busy--
	}
	return batch
}

// patience is how long a call waits to be sent. If enough other nodes have answered,
// this node is slow, so the call waits only briefly. Otherwise all nodes or this
// process are slow, and giving up would add to the load.
func (l *lane) patience(q *call) time.Duration {
	if q.fan.enough() {
		return l.client.timeout / 2
	}
	return max(l.client.timeout/2, l.client.patience)
}

// refuse fails all waiting calls. The mutex must be held.
func (l *lane) refuse(err error) {
	for _, q := range l.waiting {
		q.unsent(err)
	}
	l.waiting = nil
}

// A Fan is a set of calls to several nodes, of which a quorum decides. It may be used
// by many goroutines.
type Fan struct {
	Quorum  int
	answers atomic.Int32 // number of nodes that answered
}

// Start calls a rule at a node and does not wait. It calls done once with the result,
// from any goroutine, perhaps before it returns. Of ctx only the values are used.
//
// The call may wait for earlier ones to the node before it is sent: for half of the
// timeout if a quorum has answered, else for Config.Patience.
func (f *Fan) Start(ctx context.Context, to *Link, rule *Script, h *Header, keys Keys, args []any, done func(Answer)) {
	c, ok := to.transport.(*client)
	if !ok {
		go func() { done(to.Eval(context.WithoutCancel(ctx), rule, h, keys.names, args)) }()
		return
	}
	c.enter(rule, &call{fan: f, header: h, keys: keys, args: args, done: done})
}

// enough reports whether enough nodes have answered to decide.
func (f *Fan) enough() bool { return int(f.answers.Load()) >= f.Quorum }

// A call is one call of a rule to one node.
type call struct {
	fan    *Fan
	header *Header
	keys   Keys
	args   []any
	done   func(Answer)

	lane  *lane
	since time.Time // when it entered the lane
}

// answer passes the caller the result of its request: an error, or a reply in parts.
func (q *call) answer(sent, received time.Time, err error, result ...[]any) {
	a := Answer{Sent: sent, Received: received}.with(q.lane.script, err, result...)
	if err == nil {
		q.fan.answers.Add(1)
	}
	q.done(a)
}

// unsent tells the caller that the call was not sent. It does not wait, since the mutex
// is held.
func (q *call) unsent(err error) {
	go q.done(Answer{Sent: q.since, Received: time.Now(), Err: err})
}
