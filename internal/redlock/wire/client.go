package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Transport carries requests to the nodes, by node name. The usual one is go-redis;
// Config.Transport sets another, for simulations.
//
// An error means that there was no answer: the request may have taken effect, or may do
// so later. A Transport gives up when ctx ends.
type Transport interface {
	// Eval runs the script at the node and returns its answer, a list of strings.
	Eval(ctx context.Context, node string, script *Script, keys []string, args []any) (any, error)
	// Info returns the reply of the server's INFO.
	Info(ctx context.Context, node string) (string, error)
}

// A client is the Transport to one node by go-redis. Calls that a Fan starts share
// requests, see lane.
type client struct {
	redis    *redis.Client
	run      runner
	timeout  time.Duration
	patience time.Duration // see lane

	mu     sync.Mutex // also guards the lanes
	lanes  map[*Script]*lane
	heard  time.Time // when the node last answered
	closed bool

	// The goroutines that carry requests are reused. The call stack of go-redis is
	// deep, and each new goroutine would have to grow its stack.
	carriers sync.WaitGroup
	idle     chan *call    // to an idle carrier
	over     chan struct{} // closed by Close
}

// A runner runs a script at the node. Words holds its keys and arguments, after space
// for the words of EVALSHA.
type runner func(ctx context.Context, s *redis.Script, keys int, words []any) (any, error)

// evalshaWords is how many words of EVALSHA come before the keys.
const evalshaWords = 3

func newClient(server *redis.Client, timeout, patience time.Duration) *client {
	c := &client{
		redis: server, timeout: timeout, patience: patience, lanes: map[*Script]*lane{},
		idle: make(chan *call), over: make(chan struct{}),
	}
	c.run = c.evalsha
	return c
}

// evalsha does what redis.Script does, without copying all words.
func (c *client) evalsha(ctx context.Context, s *redis.Script, keys int, words []any) (any, error) {
	words[0], words[1], words[2] = "evalsha", s.Hash(), keys
	v, err := c.redis.Do(ctx, words...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		names := make([]string, keys)
		for i := range names {
			names[i] = words[evalshaWords+i].(string)
		}
		return s.Eval(ctx, c.redis, names, words[evalshaWords+keys:]...).Result()
	}
	return v, err
}

// Eval implements Transport.
func (c *client) Eval(ctx context.Context, _ string, script *Script, keys []string, args []any) (any, error) {
	start := time.Now()
	words := append(append(make([]any, evalshaWords, evalshaWords+len(keys)+len(args)), NewKeys(keys).words...), args...)
	v, err := c.run(ctx, script.one, len(keys), words)
	return v, c.judgeOne(ctx, start, err)
}

// Info implements Transport.
func (c *client) Info(ctx context.Context, _ string) (string, error) {
	start := time.Now()
	text, err := c.redis.Info(ctx).Result()
	return text, c.judgeOne(ctx, start, err)
}

// judge classifies the end of a request. Silence is the error of a node that sent
// nothing until the timeout, else nil. A node is not silent if it answered another
// request since start, or if this process noticed the timeout much too late. The mutex
// must be held.
func (c *client) judge(start, end time.Time, err error) (outcome, silence error) {
	if Answered(err) {
		c.heard = end
		return err, nil
	}
	took := end.Sub(start)
	switch {
	case took <= c.timeout/2 || neverAsked(err):
		return err, nil // the connection broke, or there was none
	case c.heard.After(start) || took > c.timeout+c.timeout/4:
		return fmt.Errorf("%w: %w", errLate, err), nil
	}
	return err, err
}

// judgeOne is judge for a request with one call.
func (c *client) judgeOne(ctx context.Context, start time.Time, err error) error {
	err = callError(ctx, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	err, _ = c.judge(start, time.Now(), err)
	return err
}

// Close ends all calls, in flight or waiting, and closes the connections.
func (c *client) Close() error {
	c.mu.Lock()
	if !c.closed {
		close(c.over)
	}
	c.closed = true
	for _, l := range c.lanes {
		l.refuse(redis.ErrClosed)
	}
	c.mu.Unlock()
	err := c.redis.Close()
	c.carriers.Wait()
	return err
}

// carry makes an idle carrier, or a new one, send the call and those that wait behind
// it. The mutex must be held, and the client must not be closed.
func (c *client) carry(q *call) {
	select {
	case c.idle <- q:
	default:
		c.carriers.Go(func() { c.work(q) })
	}
}

func (c *client) work(q *call) {
	var words []any // reused for each request
	for {
		words = q.lane.carryAll(q, words)
		select {
		case q = <-c.idle:
		case <-c.over:
			return
		}
	}
}
