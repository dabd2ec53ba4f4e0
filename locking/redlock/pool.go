package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
)

// errNotOffered answers redsync commands that no round needs. The redsync version in
// use sends none of them.
var errNotOffered = errors.New("redlock: the adapter offers redsync SetNX and Eval only")

// validityShare is the share of a TTL that redsync allows for the first round. Its default
// of 5 % can be shorter than a node's timeout, which is up to a quarter.
const validityShare = 0.5

// newMutex returns the try's mutex, which locks only once.
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
		redsync.WithGenValueFunc(func() (string, error) { return t.claim.Owner, nil }),
	)
}

// A pool lets redsync reach one node on behalf of one try.
type pool struct {
	t    *try
	node int
}

// Get implements redis.Pool.
func (p pool) Get(ctx context.Context) (redis.Conn, error) {
	return conn{pool: p, ctx: ctx}, nil
}

// A conn answers redsync's command with the node's vote in the round for that command.
// It waits until the round is decided, since waking redsync for each answer only costs
// processor time. The round sends its requests before redsync asks. It still records
// answers after redsync has stopped waiting.
type conn struct {
	pool
	ctx context.Context
}

// SetNX implements redis.Conn with the first round: COMMIT, or LOCK.
func (c conn) SetNX(string, string, time.Duration) (bool, error) {
	v, err := c.t.first.vote(c.ctx, c.node)
	return v.ok(), err
}

// Eval implements redis.Conn. redsync evaluates its own scripts, to free the lock and
// to extend it; the try's phase decides which rule they stand for. If no phase is set,
// redsync frees a lock that it did not get.
func (c conn) Eval(*redis.Script, ...any) (any, error) {
	r := c.t.eval.Load()
	if r == nil {
		r = c.t.beginVoid(c.ctx)
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
