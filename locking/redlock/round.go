package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A round sends the same query to every node, at once. It is over as soon as its votes
// decide. The try records later answers, but they do not change the votes.
type round struct {
	t     *try
	ctx   context.Context // never ends: a request may take effect although nobody waits
	kind  kind
	fan   *client.Fan
	query query
	begun time.Time

	// Guarded by the try's mutex.
	votes    []vote                 // by node; they never change once the round is done
	pending  int                    // nodes whose vote is missing
	requests [locking.MostNodes]int // without an answer, by node
	done     bool

	over chan struct{} // closed when done is set
}

// A kind is the kind of a round.
type kind int

const (
	claiming  kind = iota // a lock or a claim; repeated at nodes that do not answer
	extending             // the lease; nodes that lack the claim get COMMIT first
	ending                // the end of the lease; every node is told
	voiding               // the end of a try; over when all nodes expected to answer soon have answered
)

// maxRequests bounds how often a round sends a claim to a node that does not answer.
const maxRequests = 4

func (t *try) round(ctx context.Context, k kind, q query) *round {
	return &round{
		t: t, ctx: context.WithoutCancel(ctx), kind: k, fan: &client.Fan{Quorum: t.l.set.Quorum()}, query: q, begun: time.Now(),
		votes: make([]vote, len(t.nodes)), pending: len(t.nodes), over: make(chan struct{}),
	}
}

// start sends the requests and does not wait.
func (r *round) start() *round {
	for i := range r.t.nodes {
		switch r.kind {
		case claiming:
			r.send(i)
		case extending:
			r.join(i)
		case ending:
			r.t.after(i, func() { r.send(i) })
		case voiding:
			r.void(i)
		}
	}
	return r
}

func (r *round) send(node int) {
	r.t.send(r.ctx, r.fan, node, &r.query, r)
}

// retries implements voteHandler. It repeats a claim after a pause, if that may still
// decide the round: the reply may have been lost.
func (r *round) retries(node int, v vote) bool {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if !v.uncertain() {
		return false
	}
	r.requests[node]++
	if r.kind != claiming || r.done || r.requests[node] == maxRequests {
		return false
	}
	time.AfterFunc(r.t.l.set.Timeout()/8<<r.requests[node], func() {
		select {
		case <-r.over:
		default:
			r.send(node)
		}
	})
	return true
}

// join sends COMMIT to a node that lacks the claim, before it extends the lease there.
// Acceptance is no vote: the node would accept again after others had the lock.
func (r *round) join(node int) {
	if r.t.stateAt(node).claimed {
		r.send(node)
		return
	}
	commit := r.t.commitQuery(true)
	r.t.send(r.ctx, &client.Fan{Quorum: r.t.l.set.Quorum()}, node, &commit, joining{r})
}

// joining extends the lease at a node once it has answered the COMMIT, whose vote does not
// count.
type joining struct{ r *round }

func (j joining) retries(node int, _ vote) bool {
	j.r.send(node)
	return true
}

func (joining) add(int, vote) {}

// void sends VOID only to nodes that may hold something of the try, after their answers
// to earlier requests. It does not wait for a node that has not answered anything yet.
func (r *round) void(node int) {
	p := r.t.stateAt(node)
	switch {
	case p.inFlight > 0 && (p.silent || !p.left):
		r.add(node, vote{})
		r.t.after(node, func() {
			if r.t.stateAt(node).left {
				r.t.send(r.ctx, r.fan, node, &r.query, nil)
			}
		})
	case p.left:
		r.t.after(node, func() { r.send(node) })
	default:
		r.add(node, vote{node: r.t.nodes[node].Name(), code: protocol.OK})
	}
}

// add implements voteHandler.
func (r *round) add(node int, v vote) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if r.done {
		return
	}
	r.votes[node] = v
	r.pending--
	if r.decided() {
		r.done = true
		close(r.over)
	}
}

// decided reports whether further votes cannot matter. One node that knows the tick as
// done is enough. An end that comes too late still counts.
func (r *round) decided() bool {
	quorum := r.t.l.set.Quorum()
	granted, closed := count(r.votes, protocol.OK), count(r.votes, protocol.OK, protocol.RanOut)
	switch {
	case r.kind == voiding:
		return r.pending == 0
	case granted >= quorum, count(r.votes, protocol.Done) > 0:
		return true
	case granted+r.pending >= quorum:
		return false
	}
	return closed >= quorum || closed+r.pending < quorum
}

// end ends the round if it is not over, and returns its final votes.
func (r *round) end() []vote {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if !r.done {
		r.done = true
		close(r.over)
	}
	return r.votes
}

// result waits until the round is over.
func (r *round) result() (votes []vote, granted bool) {
	<-r.over
	return r.votes, count(r.votes, protocol.OK) >= r.t.l.set.Quorum()
}

// vote waits until the round is over, and returns the node's vote.
func (r *round) vote(ctx context.Context, node int) (vote, error) {
	select {
	case <-r.over:
		return r.votes[node], r.votes[node].err
	case <-ctx.Done():
		return vote{}, ctx.Err()
	}
}

// A nodeState is what is known of a try at one node.
type nodeState struct {
	inFlight int      // requests in flight
	next     []func() // called when their answers are in
	silent   bool     // a request got no answer, so it may still arrive
	claimed  bool     // the node has the claim
	left     bool     // the node holds, may hold, or may come to hold, something of the try
}

// What an answer of a rule leaves of the try at a node.
type leaving int

const (
	leavesNothing leaving = iota // LOOK
	leavesLock                   // LOCK that was accepted
	leavesClaim                  // COMMIT that was accepted
	extends                      // EXTEND: a node that answers LOST may have lost its memory, so the next round sends it COMMIT first
	frees                        // FINISH, VOID
)

// learn applies an answer of a rule to the node's state.
func (p *nodeState) learn(leaves leaving, v vote) {
	switch leaves {
	case leavesLock:
		p.left = p.left || v.ok()
	case leavesClaim:
		p.claimed, p.left = p.claimed || v.ok(), p.left || v.ok()
	case extends:
		p.claimed = v.code != protocol.Lost
	case frees:
		p.left = false
	}
}

// A query is a request of one rule.
type query struct {
	script *membership.Script
	args   []any
	leaves leaving
	// lateArgs are the arguments for a node with an unanswered request; nil: args.
	lateArgs []any
}

// last marks the query as the last one of the try. The last argument says whether an
// earlier request may still arrive.
func (q query) last() query {
	q.lateArgs = slices.Clone(q.args)
	q.lateArgs[len(q.lateArgs)-1] = "1"
	return q
}

// A voteHandler receives the votes of a query.
type voteHandler interface {
	// retries reports whether the node is asked again, so the vote does not count. A
	// request sent by it precedes those that wait for the node.
	retries(node int, v vote) bool
	// add takes a vote that counts, after the node's state was updated.
	add(node int, v vote)
}

// send sends a query to a node and does not wait. No context cancels it, since it might
// still take effect; it ends with the node's timeout. H may be nil.
func (t *try) send(ctx context.Context, fan *client.Fan, node int, q *query, h voteHandler) {
	t.l.active.add(1)
	args := q.args
	t.mu.Lock()
	t.states[node].inFlight++
	t.inFlight++
	if q.lateArgs != nil && t.states[node].silent {
		args = q.lateArgs
	}
	t.mu.Unlock()
	t.nodes[node].Start(ctx, fan, q.script, t.keys, args, func(reply membership.Reply) {
		defer t.l.active.add(-1)
		v := parse(reply)
		t.mu.Lock()
		switch p := &t.states[node]; {
		case v.uncertain():
			p.silent, p.left = true, true
		case v.partial():
			p.left = true
		case v.err == nil:
			p.learn(q.leaves, v)
		}
		t.mu.Unlock()
		more := h != nil && h.retries(node, v)
		t.done(node)
		if h != nil && !more {
			h.add(node, v)
		}
	})
}

// done starts what waited for a request.
func (t *try) done(node int) {
	t.mu.Lock()
	p := &t.states[node]
	p.inFlight--
	t.inFlight--
	var next []func()
	if p.inFlight == 0 {
		next, p.next = p.next, nil
	}
	t.mu.Unlock()
	for _, f := range next {
		f()
	}
	t.startCleanup()
}

// after calls f when all requests to the node have been answered or have timed out.
func (t *try) after(node int, f func()) {
	t.mu.Lock()
	p := &t.states[node]
	if p.inFlight > 0 {
		p.next = append(p.next, f)
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	f()
}

// stateAt returns the state of the try at a node.
func (t *try) stateAt(node int) nodeState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.states[node]
}

// retire leaves it to the cleaner to repeat the query at nodes with leftovers.
func (t *try) retire(rest query) {
	t.mu.Lock()
	t.cleanup = &rest
	t.mu.Unlock()
	t.startCleanup()
}

// startCleanup starts the cleaner if it is due.
func (t *try) startCleanup() {
	t.mu.Lock()
	due := t.cleanup != nil && t.inFlight == 0 && !t.cleaning && anyLeft(t.states)
	t.cleaning = t.cleaning || due
	t.mu.Unlock()
	if due {
		t.l.cleaner.Repeat(t.cleanOnce)
	}
}

func anyLeft(states []nodeState) bool {
	return slices.ContainsFunc(states, func(p nodeState) bool { return p.left })
}

// cleanOnce sends the query once to nodes with leftovers, and reports whether any remain.
func (t *try) cleanOnce(ctx context.Context) bool {
	fan := &client.Fan{Quorum: t.l.set.Quorum()}
	var wg sync.WaitGroup
	for i := range t.nodes {
		if t.stateAt(i).left {
			wg.Add(1)
			t.send(ctx, fan, i, t.cleanup, waitVote{&wg})
		}
	}
	wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return anyLeft(t.states)
}

// waitVote counts the vote in a WaitGroup.
type waitVote struct{ *sync.WaitGroup }

func (waitVote) retries(int, vote) bool { return false }

func (c waitVote) add(int, vote) { c.Done() }

// A counter counts requests in flight.
type counter struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil without a waiter
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// wait returns when n is 0.
func (c *counter) wait() {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	<-none
}
