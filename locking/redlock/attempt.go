package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// streamPlain is the stream of plain locks, which have no ticks.
const streamPlain = "lock"

// An attempt is one try of one replica to work under one name. It has a random
// value of its own and, once redsync has a part in it, one mutex and one set of
// pools, none of which is ever used again. Its rounds follow one another: one
// goroutine at a time.
type attempt struct {
	cfg    Config
	set    *nodes.Set
	nodes  []*nodes.Node
	req    locking.Request
	v      string
	stream string
	keys   []string
	common []any          // the first arguments of every rule
	mutex  *redsync.Mutex // see redsync

	// votes are the nodes' answers in round 1, then in round 2; a direct claim
	// begins with that.
	votes []vote
	// open are the nodes that left a request unanswered, so that it may take
	// effect yet; left are those that hold, or may come to hold, something of
	// this attempt.
	open, left []bool
	// spared are the nodes that a direct claim has not been asked for, nil: none;
	// order is in which nodes are asked then.
	spared []bool
	order  []int
	rounds uint8 // of requests to claim
	// leftOut are the nodes whose fence the ballot does not exceed; reachable is what
	// tokens may reach by the clocks of a quorum.
	leftOut   [locking.MostNodes]bool
	reachable uint64
	// ballot is what round 2 is about; givenUp are the records of the ballots
	// before it.
	ballot  ballot
	givenUp []any
	// handover says that the lease ends without its tick being done.
	handover bool
	// eval is what redsync's Eval stands for at the moment.
	eval func(ctx context.Context, node int) vote
}

func newAttempt(l *Locker, req locking.Request) *attempt {
	a := &attempt{
		cfg: l.cfg, set: l.set, nodes: l.set.Nodes(), req: req,
		// The value tells owners apart, also two attempts of one replica for
		// one tick, so nothing that either knows may go into it.
		v:      l.cfg.Random(req),
		stream: streamOf(req),
		votes:  make([]vote, l.set.Len()),
		open:   make([]bool, l.set.Len()),
		left:   make([]bool, l.set.Len()),
	}
	a.keys, a.common = about(l.set, req, a.v)
	if a.direct() {
		a.leaveOut()
	}
	return a
}

// streamOf returns the stream that the request's claim is kept under.
func streamOf(req locking.Request) string {
	if req.Tick.IsZero() {
		return streamPlain
	}
	return req.InStream()
}

// about returns the keys and the first arguments of every rule that v asks for
// the request.
func about(set *nodes.Set, req locking.Request, v string) (keys []string, common []any) {
	var tick any = ""
	if !req.Tick.IsZero() {
		tick = req.Tick.UnixMilli()
	}
	keys = []string{
		set.JobKey(req.Name, "lock"), set.JobKey(req.Name, "claim"),
		set.Key("dead", v), set.JobKey(req.Name, "runs"), set.JobKey(req.Name, "shares"),
	}
	return keys, []any{v, streamOf(req), tick, req.TTL.Milliseconds(), flagArg(req.Beside)}
}

// hopeless tells whether too few nodes are up to grant anything, and notes which.
func (a *attempt) hopeless() bool {
	down := a.set.Lacking()
	for i, r := range down {
		if r.Err != nil {
			a.votes[i] = parse(r)
		}
	}
	return down != nil
}

// redsync returns the attempt's mutex, which makes one try, and makes it when it
// is asked for first: most direct claims are over before that. It would give the
// nodes 5 % of the expiry; the factor makes it wait for two node timeouts, so that
// the nodes' own deadline is always the shorter one.
func (a *attempt) redsync() *redsync.Mutex {
	if a.mutex != nil {
		return a.mutex
	}
	pools := make([]redis.Pool, len(a.nodes))
	for i := range a.nodes {
		pools[i] = pool{a: a, node: i}
	}
	a.mutex = redsync.New(pools...).NewMutex(a.keys[0],
		redsync.WithExpiry(a.req.TTL),
		redsync.WithTries(1),
		redsync.WithDriftFactor(a.cfg.DriftFactor),
		redsync.WithTimeoutFactor(float64(2*a.set.Timeout())/float64(a.req.TTL)),
		redsync.WithGenValueFunc(func() (string, error) { return a.v, nil }),
	)
	return a.mutex
}

// call runs a rule at one node. Different nodes may be called at the same time.
// The context counts only for its values: a request that is cut off may still
// take effect, so every one is awaited, which takes a node timeout at most, and
// the cleanup after it is never skipped.
func (a *attempt) call(ctx context.Context, node int, script *nodes.Script, args ...any) vote {
	ctx = context.WithoutCancel(ctx)
	return a.hear(node, a.nodes[node].Call(ctx, script, a.keys, append(slices.Clip(a.common), args...)...))
}

// hear reads a node's reply and keeps whether the request may take effect yet.
func (a *attempt) hear(node int, r nodes.Reply) vote {
	v := parse(r)
	if v.open() {
		a.open[node], a.left[node] = true, true
	}
	return v
}

// kept notes the vote of a rule that leaves something at the node which accepts it.
func (a *attempt) kept(node int, v vote) vote {
	if v.ok() {
		a.left[node] = true
	}
	return v
}

// cleared notes the vote of a rule after which nothing is left, nor can arrive any
// more.
func (a *attempt) cleared(node int, v vote) vote {
	if v.ok() {
		a.open[node], a.left[node] = false, false
	}
	return v
}

func everyone(int) bool { return true }

// poll runs a rule at all nodes by way of one of the mutex's methods, and
// returns what each said and what redsync made of it.
func (a *attempt) poll(ctx context.Context, method func(context.Context) (bool, error), rule func(context.Context, int) vote) ([]vote, bool) {
	votes := make([]vote, len(a.nodes))
	a.eval = func(ctx context.Context, node int) vote {
		votes[node] = rule(ctx, node)
		return votes[node]
	}
	ok, _ := method(ctx) // the error repeats what the votes say better
	return votes, ok
}

// ask is call at all nodes that want names, at once, and waits for all. The votes
// of the others are empty.
func (a *attempt) ask(ctx context.Context, want func(node int) bool, script *nodes.Script, args ...any) []vote {
	ctx = context.WithoutCancel(ctx)
	votes := make([]vote, len(a.nodes))
	for i, r := range a.set.CallSome(ctx, want, script, a.keys, append(slices.Clip(a.common), args...)...) {
		if want(i) {
			votes[i] = a.hear(i, r)
		}
	}
	return votes
}

// over tells whether a quorum has closed the claim.
func (a *attempt) over(votes []vote) bool {
	n := 0
	for _, v := range votes {
		if v.closed() {
			n++
		}
	}
	return n >= a.set.Quorum()
}

// each calls f for the nodes that want it, at once, and waits for all.
func (a *attempt) each(want func(node int) bool, f func(node int)) {
	var wg sync.WaitGroup
	for i := range a.nodes {
		if want(i) {
			wg.Go(func() { f(i) })
		}
	}
	wg.Wait()
}

// deadline is the end of what the acceptances among the votes grant.
func (a *attempt) deadline(votes []vote) time.Time {
	return countedFrom(votes, a.set.Quorum()).Add(a.lasts())
}

// lasts is how long a lease does, from its first request on.
func (a *attempt) lasts() time.Duration { return a.req.TTL - a.cfg.drift(a.req.TTL) }

// direct tells whether the attempt has one round. A plain lock has two.
func (a *attempt) direct() bool { return a.req.Direct && !a.req.Tick.IsZero() }

// blocking is how many nodes suffice to make a quorum impossible.
func (a *attempt) blocking() int { return a.set.Len() - a.set.Quorum() + 1 }

// pause waits, unless ctx ends first; it tells whether it waited.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (a *attempt) anyLeft() bool { return slices.Contains(a.left, true) }
