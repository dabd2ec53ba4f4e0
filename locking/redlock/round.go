package redlock

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// A round sends the same query to every node, at once. It is over as soon as its votes
// decide. The try records later answers, but they do not change the votes.
type round struct {
	t     *try
	ctx   context.Context
	kind  kind
	fan   *client.Fan
	query query
	begun time.Time

	// Guarded by the try's mutex.
	votes    []vote
	pending  int
	requests [locking.MostNodes]int // requests per node
	done     bool

	over chan struct{}
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
		t: t, ctx: context.WithoutCancel(ctx), kind: k, fan: t.l.set.NewFan(), query: q, begun: time.Now(),
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

// retries implements voteHandler.
func (r *round) retries(node int, v vote) bool { return v.uncertain() && r.retry(node) }

// join sends COMMIT to a node that lacks the claim, before it extends the lease there.
// Acceptance is no vote: the node would accept again after others had the lock.
func (r *round) join(node int) {
	if r.t.stateAt(node).claimed {
		r.send(node)
		return
	}
	commit := r.t.commitQuery(true)
	r.t.send(r.ctx, r.t.l.set.NewFan(), node, &commit, joining{r})
}

// joining extends the lease at a node once it has answered the COMMIT.
type joining struct{ *round }

func (j joining) retries(node int, _ vote) bool {
	j.send(node)
	return true
}

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
		r.add(node, vote{node: r.t.nodes[node].Name(), code: codeOK})
	}
}

// retry repeats a claim after a pause, if that may still decide the round: the reply
// may have been lost.
func (r *round) retry(node int) bool {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.requests[node]++
	if r.kind != claiming || r.done || r.requests[node] == maxRequests {
		return false
	}
	time.AfterFunc(r.t.l.set.Timeout()/8<<r.requests[node], func() {
		if !r.isOver() {
			r.send(node)
		}
	})
	return true
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
		r.finish()
	}
}

// decided reports whether further votes cannot matter. One node that knows the tick as
// done is enough. An end that comes too late still counts.
func (r *round) decided() bool {
	quorum := r.t.l.set.Quorum()
	granted, closed := count(r.votes, codeOK), count(r.votes, codeOK, codeRanOut)
	switch {
	case r.kind == voiding:
		return r.pending == 0
	case granted >= quorum, count(r.votes, codeDone) > 0:
		return true
	case granted+r.pending >= quorum:
		return false
	}
	return closed >= quorum || closed+r.pending < quorum
}

func (r *round) finish() {
	r.done = true
	close(r.over)
}

func (r *round) isOver() bool {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	return r.done
}

// end ends the round if it is not over, and returns its final votes.
func (r *round) end() []vote {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if !r.done {
		r.finish()
	}
	return r.votes
}

// result waits until the round is over.
func (r *round) result() (votes []vote, granted bool) {
	<-r.over
	return r.votes, count(r.votes, codeOK) >= r.t.l.set.Quorum()
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
