package nodes

import (
	"context"
	"sync/atomic"
	"time"
)

// A round is one call at several nodes by way of their lanes, awaited together:
// who calls needs neither a goroutine nor a timer for each of them. Every call that
// was handed to a lane is answered in the end, since every request has a timeout.
type round struct {
	left     atomic.Int32 // calls that are not answered yet
	answers  atomic.Int32 // of nodes
	quorum   int
	finished chan struct{}
}

// A queued call waits to be sent, then for its answer.
type queued struct {
	round  *round
	lane   *lane
	key    string // of what the node says about itself
	header []any
	keys   []string
	args   []any

	// Guarded by the wire's mutex: when it came; the caller is gone; the request is
	// under way, or was.
	since      time.Time
	left, sent bool

	answered     atomic.Bool // what follows is set
	value        any
	err          error
	asked, heard time.Time // zero if it was not sent
}

func (q *queued) answer(value any, err error) {
	q.value, q.err = value, err
	q.answered.Store(true)
	if err == nil {
		q.round.answers.Add(1)
	}
	if q.round.left.Add(-1) == 0 {
		close(q.round.finished)
	}
}

// enough tells whether the nodes that have answered can decide without the others.
func (r *round) enough() bool { return int(r.answers.Load()) >= r.quorum }

// run makes the calls and waits for their answers, or until ctx ends.
func (r *round) run(ctx context.Context, calls []*queued) {
	r.left.Store(int32(len(calls)))
	r.finished = make(chan struct{})
	patient := ctx.Done() == nil
	var own *queued // is sent by this goroutine, which has to wait anyway
	for _, q := range calls {
		if !q.lane.enter(q) {
			continue
		}
		if own != nil || !patient {
			q.lane.wire.start(task{lane: q.lane, first: q})
		} else {
			own = q
		}
	}
	if own != nil {
		own.lane.carryOne(own)
	}
	if patient {
		<-r.finished
		return
	}
	select {
	case <-r.finished:
	case <-ctx.Done():
	}
}

// outcome returns what became of a call after its round was run.
func (q *queued) outcome(ctx context.Context) (value any, err error) {
	if q.answered.Load() {
		return q.value, q.err
	}
	q.lane.wire.mu.Lock()
	defer q.lane.wire.mu.Unlock()
	q.left = true
	if q.sent {
		return nil, ctx.Err()
	}
	return nil, errUnsent
}

// callTogether is Call of a script that nodes batch, at several nodes. It fills in
// the replies of the nodes that want names.
func callTogether(ctx context.Context, list []*Node, quorum int, want func(int) bool, script *Script, keys []string, args []any) []Reply {
	replies := make([]Reply, len(list))
	r := &round{quorum: quorum}
	all := make([]queued, len(list))
	calls := make([]*queued, 0, len(list))
	start := time.Now()
	for i, n := range list {
		if !want(i) {
			continue
		}
		if reply, refused := n.refuses(); refused {
			n.tell(script, reply)
			replies[i] = reply
			continue
		}
		q := &all[i]
		q.round, q.key, q.header, q.keys, q.args = r, n.key, n.header(script), keys, args
		q.lane = n.transport.(*wire).lane(script)
		calls = append(calls, q)
	}
	if len(calls) > 0 {
		r.run(ctx, calls)
	}
	for i, n := range list {
		if q := &all[i]; q.lane != nil {
			replies[i] = n.hear(ctx, script, q, start)
		}
	}
	return replies
}

// hear reads what became of a call, and lets it decide whether the node is up.
func (n *Node) hear(ctx context.Context, script *Script, q *queued, start time.Time) Reply {
	v, err := q.outcome(ctx)
	r := Reply{Node: n.name, Sent: start}
	if r.Received = time.Now(); q.answered.Load() && !q.asked.IsZero() {
		r.Sent, r.Received = q.asked, q.heard
	}
	r = n.heard(r, script, v, err)
	n.note(ctx, script, r)
	return r
}
