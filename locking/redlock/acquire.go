package redlock

import (
	"context"

	"github.com/quorate/quorate/locking"
)

// acquire is round 1. redsync asks all nodes for the lock, judges their answers
// and, if too few accepted or too late, frees it everywhere by ABORT.
func (a *attempt) acquire(ctx context.Context) bool {
	a.eval = a.abortAt
	a.rounds++
	return a.redsync().LockContext(ctx) == nil
}

// acquireAt is what redsync's SetNX stands for.
func (a *attempt) acquireAt(ctx context.Context, node int) vote {
	a.votes[node] = a.kept(node, a.call(ctx, node, acquireScript, modeArg(a.req.Mode)))
	return a.votes[node]
}

// abort frees the lock of an attempt that has not begun to commit.
func (a *attempt) abort(ctx context.Context) {
	a.poll(ctx, a.redsync().UnlockContext, a.abortAt)
}

// abortAt frees the lock at a node. Where the request for it was left
// unanswered, it may arrive later than this one, and must find a tombstone. A
// node that refused holds nothing of the attempt, so it is not asked: most
// attempts of competing replicas end like that.
func (a *attempt) abortAt(ctx context.Context, node int) vote {
	if !a.left[node] {
		return vote{node: a.nodes[node].Name(), code: codeOK}
	}
	tombstone := "0"
	if a.open[node] {
		tombstone = "1"
	}
	return a.cleared(node, a.call(ctx, node, abortScript, tombstone))
}

func modeArg(m locking.Mode) string { return flagArg(m == locking.AtLeastOnce) }

func flagArg(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
