package client

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
	server   server
	run      runner
	copies   int // replicas that must have what a copied script wrote
	timeout  time.Duration
	patience time.Duration // see lane

	mu     sync.Mutex // also guards the lanes
	lanes  map[*Script]*lane
	heard  time.Time // when the node last answered
	at     string    // the address of the server that did
	closed bool

	// The goroutines that carry requests are reused. The call stack of go-redis is
	// deep, and each new goroutine would have to grow its stack.
	carriers sync.WaitGroup
	idle     chan *call    // to an idle carrier
	over     chan struct{} // closed by Close
}

// A runner runs a script at the node, and waits until so many replicas have what it wrote.
// Words holds its keys and arguments, after space for the words of EVALSHA.
type runner func(ctx context.Context, s *redis.Script, copies, keys int, words []any) (any, error)

// evalshaWords is how many words of EVALSHA come before the keys.
const evalshaWords = 3

func newClient(to server, cfg Config) *client {
	c := &client{
		server: to, copies: cfg.Copies, timeout: cfg.Timeout, patience: cfg.Patience, lanes: map[*Script]*lane{},
		idle: make(chan *call), over: make(chan struct{}),
	}
	c.run = c.evalsha
	return c
}

// call calls the server that has the data now.
func (c *client) call(ctx context.Context, f func(*redis.Client) error) error {
	to, err := c.server.find(ctx)
	if err == nil {
		err = f(to)
	}
	if err != nil {
		c.server.failed(ctx)
		return err
	}
	c.mu.Lock()
	c.at = c.server.addr(to)
	c.mu.Unlock()
	return nil
}

// evalsha does what redis.Script does, without copying all words.
func (c *client) evalsha(ctx context.Context, s *redis.Script, copies, keys int, words []any) (v any, err error) {
	words[0], words[1], words[2] = "evalsha", s.Hash(), keys
	err = c.call(ctx, func(to *redis.Client) error {
		v, err = copied(ctx, to, copies, c.timeout/4, func(d doer) *redis.Cmd { return d.Do(ctx, words...) })
		if err == nil || !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		names := make([]string, keys)
		for i := range names {
			names[i] = words[evalshaWords+i].(string)
		}
		v, err = copied(ctx, to, copies, c.timeout/4, func(d doer) *redis.Cmd { return s.Eval(ctx, d, names, words[evalshaWords+keys:]...) })
		return err
	})
	return v, err
}

// Eval implements Transport.
func (c *client) Eval(ctx context.Context, _ string, script *Script, keys []string, args []any) (any, error) {
	start := time.Now()
	words := append(append(make([]any, evalshaWords, evalshaWords+len(keys)+len(args)), NewKeys(keys).words...), args...)
	v, err := c.run(ctx, script.one, c.copiesOf(script), len(keys), words)
	return v, c.judgeOne(ctx, start, err)
}

// Info implements Transport.
func (c *client) Info(ctx context.Context, _ string) (string, error) {
	start := time.Now()
	var text string
	err := c.call(ctx, func(to *redis.Client) (err error) {
		text, err = to.Info(ctx).Result()
		return err
	})
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
	err := c.server.Close()
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
