package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// streamPlain is the stream of plain locks, which have no ticks.
const streamPlain = "lock"

// A try is one random value, with at most one token and one attempt number. It either
// wins a claim, keeps it and ends it, or is voided; it is never used again. Only one
// goroutine at a time starts its rounds, one after the other. Answers that arrive after
// a round are still recorded.
type try struct {
	l      *Locker
	req    locking.Request
	v      string // the random value; redsync may read it at any time
	nodes  []*membership.Node
	keys   client.Keys // of every request
	common []any       // the first arguments of every request
	mode   any         // of LOCK, LOOK and COMMIT
	begun  time.Time   // before the first request

	// claim is what COMMIT asks for, and packed its stored form, which is empty before chooseNumbers:
	// the claim then lacks its numbers.
	claim  scripts.Claim
	packed string
	// leftOut are the nodes whose fence the token does not exceed. maxAcceptableToken is the
	// largest token that a quorum's clocks allow.
	leftOut            [locking.MostNodes]bool
	maxAcceptableToken uint64

	// mutex judges the round first, then the round eval. Without eval it has not got the
	// lock, and begins VOID.
	mutex   *redsync.Mutex
	first   *round
	eval    atomic.Pointer[round]
	voiding sync.Once
	rounds  uint8 // of requests to claim

	mu       sync.Mutex  // guards the rest, and the votes of rounds
	states   []nodeState // what requests have left, by node
	inFlight int         // requests in flight
	// cleanup is what the cleaner repeats at nodes with leftovers, once no request is
	// in flight; nil until the try has ended.
	cleanup  *query
	cleaning bool
}

func newTry(l *Locker, req locking.Request, v string) *try {
	t := &try{
		l: l, req: req, v: v, nodes: l.set.Nodes(), states: make([]nodeState, l.set.Len()), begun: time.Now(),
		mode: flagArg(req.Mode == locking.AtLeastOnce),
		claim: scripts.Claim{
			Owner: v, Mode: req.Mode, Overlaps: req.Beside, Stream: req.InStream(), Holder: req.Holder, Note: string(req.Note),
		},
	}
	var tick any = ""
	if req.Tick.IsZero() {
		t.claim.Stream = streamPlain
	} else {
		t.claim.Tick = req.Tick.UnixMilli()
		tick = t.claim.Tick
	}
	t.keys = client.NewKeys(scripts.Keys(l.set, req.Name, t.claim.Stream, req.Tick, req.Beside, v))
	t.common = []any{v, t.claim.Stream, tick, req.TTL.Milliseconds(), flagArg(req.Beside)}
	return t
}

// win wins the claim. After an error the try is void.
func (t *try) win(ctx context.Context) (votes []vote, deadline time.Time, err error) {
	// 1. All nodes are asked at once: for COMMIT with numbers from the clock by a direct
	// try, else for LOCK, which returns the nodes' numbers.
	q := t.lockQuery()
	if t.req.Direct {
		t.chooseNumbers(nil)
		q = t.commitQuery(false)
	}
	t.rounds, t.first = 1, t.round(ctx, claiming, q).start()

	// 2. redsync decides whether a quorum accepted in time. If not, it voids the try.
	t.mutex = t.newMutex()
	granted := t.mutex.LockContext(t.first.ctx) == nil
	votes = t.first.end()

	// 3. After LOCK, COMMIT asks for a token and an attempt number above those that were
	// named, see chooseNumbers.
	slow := granted && !t.req.Direct && ctx.Err() != nil
	if granted && !t.req.Direct && !slow {
		t.chooseNumbers(votes)
		t.rounds = 2
		votes, granted = t.round(ctx, claiming, t.commitQuery(false)).start().result()
	}

	// 4. A quorum has issued the claim. Its lease counts from before the first request.
	if granted && !slow {
		deadline = earlier(t.begun.Add(t.l.cfg.validity(t.req.TTL)), t.mutex.Until())
		if !locking.Expired(time.Now(), deadline) {
			return votes, deadline, nil
		}
		slow = true
	}

	// 5. Otherwise no node may grant anything of the try later. The cleaner repeats VOID at
	// nodes that have not answered.
	refused := t.refusal(votes, slow)
	refused.MayShow = t.mayShow(votes)
	<-t.beginVoid(ctx).over
	t.retire(t.voidQuery())
	return votes, time.Time{}, refused
}

// mayShow reports whether a quorum may have accepted COMMIT, or may come to, before VOID arrives.
func (t *try) mayShow(votes []vote) bool {
	if !t.req.Direct && t.rounds < 2 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for i, v := range votes {
		if s := t.states[i]; v.ok() || v.partial() || s.silent || s.inFlight > 0 {
			n++
		}
	}
	return n >= t.l.set.Quorum()
}

// beginVoid sends VOID to the nodes that may hold something of the try, which is given up
// for good. The round is over when all that are expected to answer soon have answered:
// see round.void.
func (t *try) beginVoid(ctx context.Context) *round {
	t.voiding.Do(func() {
		t.first.end()
		r := t.round(ctx, voiding, t.voidQuery())
		t.eval.Store(r)
		r.start()
	})
	return t.eval.Load()
}

// retryable reports whether another try in two rounds may win at once, after these votes
// refused one. Larger numbers may win, or the lapsed lock of a holder may be taken.
func (t *try) retryable(votes []vote) bool {
	if count(votes, protocol.Stale, protocol.Unended) == 0 {
		return false
	}
	able := 0
	for i, v := range votes {
		switch {
		case v.ok(), v.unheard(), v.code == protocol.Unended, v.code == protocol.Stale && !t.leftOut[i]:
			able++
		}
	}
	return able >= t.l.set.Quorum()
}

// chooseNumbers sets an attempt number above all that the votes name, and a token above
// their fences, except those that are left out (tokenAbove). A try without LOCK has no
// votes. So tokens also follow the clock: nodes then rarely refuse one as too small. Only
// their refusal keeps the order, whatever the clock shows.
func (t *try) chooseNumbers(votes []vote) {
	t.claim.Attempt = 1
	for _, v := range votes {
		t.claim.Attempt = max(t.claim.Attempt, v.attempt+1)
	}
	t.claim.Token = max(protocol.TokenAt(t.l.cfg.Clock()), t.tokenAbove(votes))
	t.packed = t.claim.Pack()
}

// query returns a query of the rule, with arguments after the common ones.
func (t *try) query(script *membership.Script, leaves leaving, own ...any) query {
	return query{script: script, args: append(slices.Clip(t.common), own...), leaves: leaves}
}

func (t *try) lockQuery() query { return t.query(scripts.Lock, leavesLock, t.mode) }

// commitQuery asks for the claim. With join, the lease already holds it on other nodes.
func (t *try) commitQuery(join bool) query {
	return t.query(scripts.Commit, leavesClaim, t.mode, t.claim.Token, t.claim.Attempt, flagArg(join), t.packed, t.l.cfg.Keep)
}

func (t *try) voidQuery() query { return t.query(scripts.Void, frees, t.packed, "0").last() }

// finishQuery ends the claim and stores the note with it.
func (t *try) finishQuery(note []byte, handover bool) query {
	record := ""
	if !t.req.Tick.IsZero() { // records belong to ticks
		record = scripts.Record{
			Kind: scripts.Finished, Stream: t.claim.Stream, Tick: t.req.Tick,
			Token: t.claim.Token, Attempt: t.claim.Attempt, Owner: t.claim.Owner, Note: note,
		}.Encode()[1:]
	}
	return t.query(scripts.Finish, frees, t.l.cfg.Keep, t.packed, record, flagArg(handover), "0").last()
}

func flagArg(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// earlier returns own, moved back if until is earlier by either clock.
func earlier(own, until time.Time) time.Time {
	by := max(own.Sub(until), own.Round(0).Sub(until.Round(0)), 0)
	return own.Add(-by)
}

// A node whose clock is or was ahead may have a fence that the others cannot follow:
// they refuse tokens too far ahead of their clocks (N3.1). No token above such a fence
// can win, so the fence is left out (C1). That node then refuses a token that the
// others accept. Order is kept, since it rests on nodes that refuse, not on the token
// chosen.

// maxToken is the largest token that the node's clock would allow now: N3.1.
func (v vote) maxToken(grace time.Duration) uint64 {
	now := v.clock.Add(time.Since(v.received))
	return uint64(2*now.UnixMilli()+grace.Milliseconds()) << 19 / 1000
}

// tokenAbove is the smallest token above the fences of the votes that are not left out. The
// largest token that a quorum of the nodes would accept by their clocks is unknown if too
// few nodes told their fence: then none is left out.
func (t *try) tokenAbove(votes []vote) uint64 {
	var limits [locking.MostNodes]uint64
	n, quorum := 0, t.l.set.Quorum()
	for _, v := range votes {
		if v.code == protocol.OK || v.code == protocol.Stale {
			limits[n] = v.maxToken(t.l.set.Grace())
			n++
		}
	}
	known := n >= quorum
	t.maxAcceptableToken = 0
	if known {
		slices.Sort(limits[:n])
		t.maxAcceptableToken = limits[n-quorum]
	}
	var token uint64
	for i, v := range votes {
		if t.leftOut[i] = known && v.fence >= t.maxAcceptableToken; !t.leftOut[i] {
			token = max(token, v.fence+1)
		}
	}
	return token
}

// isAhead reports whether the node refused because its fence was left out.
func (t *try) isAhead(node int, v vote) bool { return t.leftOut[node] && v.code == protocol.Stale }

// missesAhead reports whether a quorum lacks only nodes that are ahead. Nodes that had
// not answered when the round was over might have granted the claim.
func (t *try) missesAhead(votes []vote) bool {
	ahead, others := 0, 0
	for i, v := range votes {
		switch {
		case t.isAhead(i, v):
			ahead++
		case v.ok(), v.unheard():
			others++
		}
	}
	return ahead > 0 && ahead+others >= t.l.set.Quorum()
}

// aheadError says how far the node's tokens are ahead of the limit, and what to do; alone
// means that it is the only node.
func (v vote) aheadError(limit uint64, alone bool) error {
	by := time.Duration((v.fence-limit)*1000>>20) * time.Millisecond
	whose, advice := "the nodes' clocks allow", "Correct that clock, and start nodes that are down: a quorum without it goes on"
	if alone {
		whose, advice = "its clock allows", "Correct that clock, and wait: tokens only grow, so no command ends this"
	}
	return fmt.Errorf("its tokens are %v ahead of what %s: it was restarted, or its clock is or was ahead. %s. If the clock is right by now, this passes at %s",
		by.Round(time.Millisecond), whose, advice, time.Now().Add(by+time.Second).UTC().Truncate(time.Second).Format(time.RFC3339))
}

// errNotOffered answers redsync commands that no round needs. The redsync version in
// use sends none of them.
var errNotOffered = errors.New("redlock: the adapter offers redsync SetNX and Eval only")

// errOther answers redsync commands about something else than the try's lock and round.
var errOther = errors.New("redlock: redsync asked about another lock or request than the try's")

// validityShare is the share of a TTL that redsync allows for the first round. Its default
// of 5 % can be shorter than a node's timeout, which is up to a quarter.
const validityShare = 0.5

// newMutex returns the try's mutex, which locks only once. The package comment tells what
// it decides.
func (t *try) newMutex() *redsync.Mutex {
	pools := make([]redis.Pool, len(t.nodes))
	for i := range t.nodes {
		pools[i] = pool{t: t, node: i}
	}
	return redsync.New(pools...).NewMutex(t.req.Name,
		redsync.WithExpiry(t.req.TTL),
		redsync.WithTries(1),
		redsync.WithFailFast(true),
		redsync.WithDriftFactor(t.l.cfg.DriftFactor),
		redsync.WithTimeoutFactor(validityShare),
		redsync.WithGenValueFunc(func() (string, error) { return t.v, nil }),
	)
}

// A pool has redsync's connections to one node.
type pool struct {
	t    *try
	node int
}

// Get implements redis.Pool.
func (p pool) Get(ctx context.Context) (redis.Conn, error) {
	return conn{t: p.t, node: p.node, ctx: ctx}, nil
}

// A conn answers redsync's command with the node's vote in the round that the command
// stands for, once the round is over. It refuses commands with other arguments than the
// round has sent.
type conn struct {
	t    *try
	node int
	ctx  context.Context
}

// SetNX implements redis.Conn with the first round: COMMIT, or LOCK.
func (c conn) SetNX(name, value string, ttl time.Duration) (bool, error) {
	if name != c.t.req.Name || value != c.t.v || ttl != c.t.req.TTL {
		return false, errOther
	}
	v, err := c.t.first.vote(c.ctx, c.node)
	return v.ok(), err
}

// Eval implements redis.Conn. redsync evaluates two scripts of its own: one with name,
// value and TTL to extend the lock, and one with name and value to free it. The first
// stands for EXTEND, the second for FINISH or VOID. redsync also frees a lock that it did
// not get: that begins VOID.
func (c conn) Eval(_ *redis.Script, args ...any) (any, error) {
	r := c.t.eval.Load()
	if r == nil {
		r = c.t.beginVoid(c.ctx)
	}
	want := []any{c.t.req.Name, c.t.v}
	if r.kind == extending {
		want = append(want, int(c.t.req.TTL.Milliseconds()))
	}
	if !slices.Equal(args, want) {
		return nil, errOther
	}
	v, err := r.vote(c.ctx, c.node)
	if err != nil {
		return nil, err
	}
	if v.ok() {
		return int64(1), nil
	}
	return int64(0), nil
}

// Close implements redis.Conn.
func (conn) Close() error { return nil }

// Get implements redis.Conn.
func (conn) Get(string) (string, error) { return "", errNotOffered }

// Set implements redis.Conn.
func (conn) Set(string, string) (bool, error) { return false, errNotOffered }

// ScriptLoad implements redis.Conn.
func (conn) ScriptLoad(*redis.Script) error { return errNotOffered }

// PTTL implements redis.Conn.
func (conn) PTTL(string) (time.Duration, error) { return 0, errNotOffered }
