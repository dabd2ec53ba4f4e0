package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
)

// errNotOffered is what redsync would get if it asked for more than the rounds
// need. The release we use does not.
var errNotOffered = errors.New("redlock: the adapter offers redsync SetNX and Eval only")

// A pool lets redsync reach one node on behalf of one attempt.
type pool struct {
	a    *attempt
	node int
}

// Get implements redis.Pool.
func (p pool) Get(ctx context.Context) (redis.Conn, error) {
	return conn{pool: p, ctx: ctx}, nil
}

// A conn turns redsync's two commands into the rule of the attempt's phase, and
// tells redsync whether the node accepted. What else the node said stays with
// the attempt.
type conn struct {
	pool
	ctx context.Context
}

// SetNX implements redis.Conn with ACQUIRE.
func (c conn) SetNX(string, string, time.Duration) (bool, error) {
	v := c.a.acquireAt(c.ctx, c.node)
	return v.ok(), v.err
}

// Eval implements redis.Conn. redsync evaluates two scripts of its own, to free
// the lock and to extend it; what really runs is up to the attempt.
func (c conn) Eval(*redis.Script, ...any) (any, error) {
	v := c.a.eval(c.ctx, c.node)
	if v.err != nil {
		return nil, v.err
	}
	if v.closed() {
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
