package redlock

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// commitTries bounds how often round 2 asks: again for lost replies, and with
// larger tokens where a node has seen one.
const commitTries = 5

// A ballot is what round 2 asks the nodes to accept. Only acceptances of one
// and the same ballot count together.
type ballot struct {
	token   uint64
	attempt int
	record  string // of the start, without its kind; empty for a plain lock
}

// commit is round 2. It returns the deadline of the lease, or why the attempt
// must be given up, which it must be when valid has passed.
func (a *attempt) commit(ctx context.Context, valid time.Time) (time.Time, error) {
	for try := range commitTries {
		if ctx.Err() != nil || locking.Expired(time.Now(), valid) {
			break
		}
		if try == 0 || a.outbid() {
			a.nextBallot()
		} else if !pause(ctx, a.set.Timeout()/8<<try) {
			break // nobody to wait for the lost replies
		} else {
			a.spared = nil // others may make up for them
		}
		a.askCommit(ctx)
		a.askAll(ctx)
		if count(a.votes, codeOK) >= a.set.Quorum() {
			return a.granted(valid)
		}
		if !a.winnable() {
			break
		}
	}
	return time.Time{}, a.refusal(locking.Expired(time.Now(), valid))
}

// granted is the deadline of a claim that a quorum has accepted, unless that
// came too late to be of use.
func (a *attempt) granted(valid time.Time) (time.Time, error) {
	now, deadline := time.Now(), a.deadline(a.votes)
	if locking.Expired(now, valid) || locking.Expired(now, deadline) {
		return time.Time{}, a.refusal(true)
	}
	return deadline, nil
}

// nextBallot takes a token above every fence that a node has named and a quorum of
// the clocks allows, and an attempt above every other claim of the tick. Tokens also follow the clock, to
// the millisecond, so that they exceed those a node may have forgotten, and those
// of an earlier tick that a direct claim has not heard of. Counting starts anew.
func (a *attempt) nextBallot() {
	b := ballot{
		token:   max(a.ballot.token+1, uint64(a.cfg.Clock().UnixMilli())<<20/1000, a.above()),
		attempt: max(a.ballot.attempt, 1),
	}
	for i, v := range a.votes {
		// In round 2 an acceptance names our own attempt.
		if v.code == codeStale || a.ballot.token == 0 {
			b.attempt = max(b.attempt, v.attempt+1)
		}
		a.votes[i] = vote{node: v.node}
	}
	if a.ballot.record != "" {
		a.givenUp = append(a.givenUp, a.ballot.record)
	}
	b.record = a.record(b, a.req.Note)
	a.ballot = b
}

// askCommit asks the nodes that have not accepted the ballot.
func (a *attempt) askCommit(ctx context.Context) {
	a.commitWhere(ctx, func(node int) bool { return !a.votes[node].ok() && !a.spares(node) })
}

// commitWhere asks the nodes that want names to accept the ballot.
func (a *attempt) commitWhere(ctx context.Context, want func(node int) bool) {
	a.rounds++
	for i, v := range a.ask(ctx, want, commitScript, a.commitArgs()...) {
		if want(i) {
			a.votes[i] = a.kept(i, v)
		}
	}
}

func (a *attempt) commitArgs() []any {
	return append([]any{
		a.ballot.token, modeArg(a.req.Mode), a.ballot.attempt, a.req.Holder, a.cfg.Keep, a.ballot.record,
	}, a.givenUp...)
}

// winnable tells whether asking once more can make a quorum: of those that
// accepted, those that only want more, and those that have not answered.
func (a *attempt) winnable() bool {
	n := count(a.votes, codeOK)
	for i, v := range a.votes {
		if v.err != nil || v.code == codeStale && !a.leftOut[i] {
			n++
		}
	}
	return n >= a.set.Quorum()
}

// void gives the attempt up for good: it will never run the job. Nodes that have
// refused all that it asked hold nothing of it: most of those that a direct claim
// meets where it is not alone.
func (a *attempt) void(ctx context.Context) {
	a.voidWhere(ctx, func(node int) bool { return a.left[node] })
}

func (a *attempt) voidWhere(ctx context.Context, want func(node int) bool) []vote {
	votes := a.ask(ctx, want, voidScript, a.voidArgs()...)
	for i, v := range votes {
		a.cleared(i, v)
	}
	return votes
}

func (a *attempt) voidAt(ctx context.Context, node int) vote {
	return a.cleared(node, a.call(ctx, node, voidScript, a.voidArgs()...))
}

// voidArgs are the records of all ballots.
func (a *attempt) voidArgs() []any {
	if a.ballot.record == "" {
		return a.givenUp
	}
	return append(slices.Clip(a.givenUp), a.ballot.record)
}

// record returns the stored form of a start or a finish without its kind, which
// the node adds. Plain locks leave no records: those belong to ticks.
func (a *attempt) record(b ballot, note []byte) string {
	if a.stream == streamPlain {
		return ""
	}
	s := nodes.Record{
		Kind: nodes.KindStarted, Stream: a.stream, Tick: a.req.Tick,
		Token: b.token, Attempt: b.attempt, Owner: a.v, Note: note,
	}.Encode()
	return s[1:]
}
