// Package redlock grants leases by a quorum of independent Redis masters. Its
// [locking.Locker] grants each tick at most once, with fencing tokens that only grow.
//
//	locks, err := redlock.Open(ctx, redlock.Config{Nodes: urls}) // or the clients that you have
//	err = locking.Do(ctx, locks, "invoices", func(ctx context.Context, claim locking.Claim) error { … })
//
// # Assumptions
//
// Tokens and once-per-tick need no assumption about time while nodes keep what they
// accepted. A node that may have lost it abstains for a grace; PROTOCOL.md says what
// that requires of the node's own clock. Wrong clocks of replicas and of other nodes
// only cost votes.
//
// # Not promised
//
//   - That a paused holder has stopped when its lease ends. Tokens protect against it.
//   - That any tick runs while fewer than a quorum of nodes answer.
//   - That a tick runs at all if its owner dies between the claim and the call of the
//     function, unless it was requested AtLeastOnce.
//
// # How a claim works
//
// PROTOCOL.md states every rule of the nodes (N…) and of the replicas (C…). A try has
// one random value v, one token t and one attempt number. Each rule is one script, so
// it is atomic on its node. Q of N nodes are a quorum.
//
//	try ──── LOCK v ────► locked ──── COMMIT v, t ────► issued: the job runs
//	  │    Q nodes: OK      │         Q nodes: OK         │  EXTEND v, every ttl/3
//	  ├── COMMIT v, t ──────┼─────────────────────────────┤
//	  ▼                     ▼                             ▼
//	VOID v: nothing is left, and another try may follow   FINISH v: the tick is done
//
// A replica that expects no competition sends COMMIT at once
// ([locking.Request].Direct). Others send LOCK first, which returns the nodes' numbers.
// After meeting another holder ([locking.Request].Waiting), a replica first sends LOOK
// to all nodes, and continues only if a quorum is free.
//
// Every round asks all nodes at once, and is over when its votes decide. Later answers
// are recorded: they say which nodes have the claim, or leftovers of a void try. FINISH
// and VOID go to a node after its answers to all earlier requests. VOID, and FINISH once
// a quorum has decided its result, are repeated in the background at nodes that may still
// hold something of the try, see [Options].
//
// # What redsync decides
//
// One [redsync.Mutex] judges one try. It sends nothing: a round has asked all nodes before
// redsync asks its pools, and each pool answers with its node's vote once the round is over.
//
//	LockContext    whether a quorum accepted the first round, COMMIT or LOCK, within half a TTL
//	ExtendContext  whether a quorum accepted EXTEND
//	UnlockContext  whether a quorum accepted FINISH, or VOID of a lease that was never used
//	Until          bounds the end of the lease. Our own end is at least two milliseconds
//	               earlier, unless the wall clock was set back during the round
//
// Not redsync but this package decides: which rule is sent, how often and to which node, as
// a cancelled request may still take effect; when a round is over; LOOK, COMMIT after LOCK,
// and VOID after a failed COMMIT; why a node refused.
package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// A Config says which nodes grant locks. Either Nodes or Clients is required.
type Config struct {
	// Nodes are the URLs of 1, 3, 5 or 7 independent Redis masters, such as
	// redis://user:password@host:6379, or rediss:// for TLS.
	Nodes []string
	// Clients are nodes given by the clients that the program already has. Their
	// addresses, credentials and dialers are used, but not their connections: requests
	// for locks need deadlines of their own. A client of NewFailoverClient or
	// NewClusterClient is one node, alone: another server may take its place.
	Clients []redis.UniversalClient
	// Copies is how many replicas the server of a single node has. A claim counts when all
	// of them have it, so any of them may take its place at any time.
	Copies int
	// New asserts that no node has ever granted a lock in the namespace, so they vote
	// at once. Otherwise blank nodes vote after Grace, since they may have lost their
	// memory. New has no effect on nodes that have served before.
	New bool

	// Namespace is the prefix of every key, in braces. Default: "quorate".
	Namespace string
	// Username and Password are for nodes whose URL names none.
	Username, Password string
	// TLS is for nodes with a rediss:// URL. The server name defaults to the URL's
	// host.
	TLS *tls.Config
	// Timeout bounds each call to a node. It must be below TTL/4. Default: 200 ms.
	Timeout time.Duration
	// TTL is the length of a lease. It must be below Grace. Default: locking.DefaultTTL.
	TTL time.Duration
	// Grace is how long a restarted node abstains. The nodes store it, and every
	// program that uses them must set the same. Default: 20 s.
	Grace time.Duration
	// Durable asserts that no node forgets what it accepted: appendfsync always, and no
	// failover that loses anything. A restarted node then votes at once.
	Durable bool
	// Embedded allows nodes inside this process, for development and tests.
	Embedded bool

	Options
}

// Open returns a Locker over the nodes of cfg once a quorum of them votes. It watches
// the nodes until Close, which the caller must call. It waits for nodes that abstain,
// but not for nodes that do not answer: then the error matches locking.ErrNoQuorum.
func Open(ctx context.Context, cfg Config) (*Locker, error) {
	list := membership.Config{
		Namespace: cfg.Namespace, Username: cfg.Username, Password: cfg.Password, TLS: cfg.TLS,
		Timeout: cfg.Timeout, TTL: cfg.TTL, Grace: cfg.Grace, Durable: cfg.Durable, Copies: cfg.Copies, Embedded: cfg.Embedded,
	}
	for _, url := range cfg.Nodes {
		list.Nodes = append(list.Nodes, membership.NodeConfig{URL: url})
	}
	for _, client := range cfg.Clients {
		list.Nodes = append(list.Nodes, membership.NodeConfig{Client: client})
	}
	set, err := membership.Open(list)
	if err != nil {
		return nil, err
	}
	l, err := New(set, cfg.Options)
	if err == nil {
		err = join(ctx, set, cfg.New)
	}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { _ = set.Run(watching) }) // Run only returns once stopped
	l.disconnect = sync.OnceValue(func() error {
		stop()
		watch.Wait()
		return set.Close()
	})
	return l, nil
}

// join makes the nodes members, and waits until a quorum votes.
func join(ctx context.Context, set *membership.Set, isNew bool) error {
	err := locking.ErrRefused
	if isNew {
		err = set.Init(ctx, false)
	}
	if errors.Is(err, locking.ErrRefused) { // the nodes have served
		err = set.Join(ctx)
	}
	if err != nil {
		return err
	}
	for {
		at, known := set.QuorumVotesAt()
		if known && at.IsZero() {
			return nil
		}
		timer := time.NewTimer(max(time.Until(at), set.Timeout()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, before %s: %w", locking.ErrUnvouched, at.UTC().Format(time.RFC3339), ctx.Err())
		}
	}
}

// A Locker grants leases by quorum. It may be used by many goroutines.
type Locker struct {
	set *membership.Set
	cfg Options
	// cleaner removes what ended tries may have left on nodes that did not answer. Until then
	// such a node may block a lock for a TTL, or a tick for a claim that no one runs. That
	// costs a vote but never causes a wrong one, so it may stop at any time.
	cleaner *retry.Background
	active  counter                    // requests of tries in flight
	names   *[locking.MostNodes]string // of the nodes
	list    uint32                     // identifies the node list
	// disconnect closes the set that Open has opened; nil: the caller owns the set.
	disconnect func() error
}

var _ locking.Watcher = (*Locker)(nil)

// New returns a Locker over the nodes of set, for programs that share the set with
// others. The set must stay open until the Locker is closed. [Open] does both.
func New(set *membership.Set, cfg Options) (*Locker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Locker{set: set, cfg: cfg, cleaner: retry.NewBackground(set.Timeout(), cfg.CleanFor)}
	l.list, l.names = set.List()
	return l, nil
}

// Set returns the nodes, for [Holders] and [Evict].
func (l *Locker) Set() *membership.Set { return l.set }

// Close stops cleaning up after ended tries, and waits for requests in flight. Leases
// stay valid. It also closes what Open has opened.
func (l *Locker) Close() error {
	l.cleaner.Close()
	l.active.wait()
	if l.disconnect == nil {
		return nil
	}
	return l.disconnect()
}

// Settle waits until all nodes have answered the requests of earlier calls, or timed
// out. Those calls themselves waited only for a quorum. Callers that read single nodes
// afterwards need it.
func (l *Locker) Settle() { l.active.wait() }

// maxTries bounds the tries of a TryAcquire. All but the first ask the nodes for their
// numbers before COMMIT.
const maxTries = 4

// TryAcquire implements locking.Locker. Each of its rounds takes at most a few node
// timeouts. It sends nothing if too few nodes are up. A try is followed by another at once
// if its numbers were too small, or if an earlier claim has lost its lock but not ended.
// When ctx ends, it finishes the round in flight and claims nothing more. For a request
// that no node could grant, such as one without a name or with an unsuitable TTL, the
// error is not an *AcquireError.
func (l *Locker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	req.TTL = cmp.Or(req.TTL, l.set.TTL())
	if err := l.check(req); err != nil {
		return nil, err
	}
	if votes, able := l.able(ctx, req); !able {
		return nil, retry.Ended(ctx, newTry(l, req, "").refusal(votes, false))
	}
	for tries := 1; ; tries++ {
		t := newTry(l, req, l.cfg.Random(req))
		votes, deadline, err := t.win(ctx)
		if err == nil {
			return newLease(t, votes, deadline), nil
		}
		if tries == maxTries || ctx.Err() != nil || !t.retryable(votes) {
			return nil, retry.Ended(ctx, err)
		}
		req.Direct = false
	}
}

// able reports whether a try can succeed; if not, it returns the votes that say why. A
// waiting caller first sends LOOK to all nodes, and claims only if a quorum is free (C2):
// so it does not disturb the holder.
func (l *Locker) able(ctx context.Context, req locking.Request) ([]vote, bool) {
	if ctx.Err() != nil {
		return make([]vote, l.set.Len()), false
	}
	if down := l.set.RepliesIfNoQuorum(); down != nil {
		votes := make([]vote, len(down))
		for i, r := range down {
			if r.Err != nil {
				votes[i] = parse(r)
			}
		}
		return votes, false
	}
	if !req.Waiting {
		return nil, true
	}
	t := newTry(l, req, "")
	return t.round(ctx, claiming, t.query(scripts.Look, leavesNothing, t.mode)).start().result()
}

// Defaults of Options.
const (
	DefaultDriftFactor = 0.01
	DefaultKeep        = 1000
	DefaultCleanFor    = 10 * time.Minute
)

// minDrift is taken off every lease besides the drift factor: Redis counts in whole
// milliseconds, and both ends are rounded.
const minDrift = 2 * time.Millisecond

// Options say how leases are counted and what the nodes keep.
type Options struct {
	// DriftFactor is the share of a TTL by which clocks may drift apart meanwhile.
	// Default: DefaultDriftFactor.
	DriftFactor float64
	// Keep is how many records a node keeps per job. Default: DefaultKeep.
	Keep int
	// CleanFor is how long a Locker repeats VOID, or a FINISH whose result is decided, at
	// nodes that have not answered it. Default: DefaultCleanFor.
	CleanFor time.Duration

	// Clock is the wall clock that tokens follow, for simulations. Default: time.Now.
	Clock func() time.Time
	// Random returns the unique value of a try, for simulations. Default: 128 random
	// bits.
	Random func(req locking.Request) string
}

// WithDefaults returns a copy of o whose unset fields hold their defaults.
func (o Options) WithDefaults() Options {
	o.DriftFactor = cmp.Or(o.DriftFactor, DefaultDriftFactor)
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.CleanFor = cmp.Or(o.CleanFor, DefaultCleanFor)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = func(locking.Request) string { return rand.Text() }
	}
	return o
}

// Validate reports everything that is wrong with o, joined. The defaults must be filled
// in.
func (o Options) Validate() error {
	var errs []error
	if o.DriftFactor < 0 || o.DriftFactor >= 0.5 {
		errs = append(errs, fmt.Errorf("drift factor %v: use a share from 0 up to 0.5", o.DriftFactor))
	}
	if o.Keep < 1 {
		errs = append(errs, fmt.Errorf("keep %d: keep at least one record per job", o.Keep))
	}
	if o.CleanFor < 0 {
		errs = append(errs, fmt.Errorf("clean for %v: use a positive duration", o.CleanFor))
	}
	return errors.Join(errs...)
}

// validity is how long a lease of length ttl counts, from the try's first request.
func (o Options) validity(ttl time.Duration) time.Duration {
	return ttl - (time.Duration(float64(ttl)*o.DriftFactor) + minDrift)
}

// check reports mistakes in a request, which no retry can fix.
func (l *Locker) check(req locking.Request) error {
	errs := []error{req.Check()}
	if req.TTL%time.Millisecond != 0 || req.TTL <= 4*l.set.Timeout() {
		errs = append(errs, fmt.Errorf("ttl %v: use whole milliseconds, more than four times the node timeout of %v", req.TTL, l.set.Timeout()))
	}
	if req.TTL >= l.set.Grace() {
		errs = append(errs, fmt.Errorf("ttl %v: use less than the restart grace of the nodes, %v: a node that lost its memory votes after that", req.TTL, l.set.Grace()))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("bad lock request %q: %w", req.Name, err)
	}
	return nil
}

// A watch holds what one replica has seen of a tick, node by node.
type watch struct {
	t    *try // for its arguments; it claims nothing
	args []any
	next int // the node to ask next
	// seen is the last answer of each node.
	seen []vote
	// invalid: no node could grant the request, so none is asked.
	invalid bool
}

// Watch implements locking.Watcher.
func (l *Locker) Watch(req locking.Request, start uint64) locking.Watch {
	t, nodes := newTry(l, req, ""), l.set.Len()
	return &watch{
		t: t, args: append(t.common, t.mode),
		next: int(start % uint64(nodes)), seen: make([]vote, nodes), invalid: l.check(req) != nil,
	}
}

// Look implements locking.Watch: rule N10 at one node, and the conclusions that C5
// allows from this and earlier answers. It takes at most a node timeout.
func (w *watch) Look(ctx context.Context) error {
	if asks := !w.invalid && ctx.Err() == nil; !asks {
		return nil
	}
	switch v := w.ask(ctx); {
	case v.code == protocol.Done:
		return w.refusal(locking.ErrDone, v)
	case v.code == protocol.Claimed && agreed(w.seen, protocol.Claimed, w.t.l.set.Quorum()):
		return w.refusal(locking.ErrClaimed, v)
	case v.code == protocol.Claimed, v.code == protocol.Busy:
		return w.refusal(locking.ErrTaken, v)
	case v.silent():
		return w.refusal(locking.ErrSilent, v)
	}
	return nil
}

// ask returns the answer of the next node that votes.
func (w *watch) ask(ctx context.Context) (v vote) {
	for range w.t.nodes {
		node := w.next
		w.next = (node + 1) % len(w.t.nodes)
		v = parse(w.t.nodes[node].Call(ctx, scripts.Look, w.t.keys.Names(), w.args...))
		w.seen[node] = v
		if !v.cannotVote() {
			break
		}
	}
	return v
}

// cannotVote reports whether the node has no vote. A node that is down, blank, abstains, or
// refuses this client said so at once. A silent node used up its time.
func (v vote) cannotVote() bool {
	var refused *membership.RefusedError
	return errors.Is(v.err, client.ErrDown) || errors.Is(v.err, membership.ErrBlank) || errors.As(v.err, &refused) ||
		v.code == protocol.Abstain || v.code == protocol.Future
}

// silent reports whether the node did not answer in time, or was not asked because
// earlier requests are unanswered.
func (v vote) silent() bool { return v.uncertain() || v.unsent && !errors.Is(v.err, client.ErrDown) }

func (w *watch) refusal(reason error, v vote) error {
	e := &locking.AcquireError{Reason: reason, Name: w.t.req.Name}
	if !w.t.l.set.OneStore() {
		e.Votes = locking.Votes{Of: len(w.t.nodes)}
	}
	nameHolder(e, []vote{v}, func(vote) bool { return true })
	e.Nodes = []locking.NodeError{{Node: v.node, Err: v.objection()}}
	return e
}
