// Package client calls single Redis nodes. Each node has one connection pool and one
// deadline, calls may share requests, and the package tracks which nodes answer. It
// does not know what nodes store; package membership does.
//
// # Nodes that are down
//
// A call that times out or loses its connection marks the node down. Then [Link.Admit]
// refuses calls with ErrDown, so a frozen node costs one timeout only once.
//
// The timeout starts when a request is sent, since a wait in this process says nothing
// about the node. Some timeouts do not mark the node down, although the call has failed
// and may have taken effect:
//
//   - The node answered other requests meanwhile.
//   - This process was so busy that it noticed the timeout much too late.
//
// # Calls that share a request
//
// Many short calls come at once, since every replica has the same jobs due in the same
// second. Calls of one rule that a [Fan] starts at one node can share a request, which
// runs the common checks once and the rule for each call:
//
//	call a ──────────► EVALSHA one  a
//	call b ──────────► EVALSHA one  b          two in flight: the others wait
//	call c, d, e, f … ──────────► EVALSHA many c d e f …, as soon as one returns
//
// So a single call never waits, and the busier a node is, the less each call costs it.
// The node runs dozens of calls in a row, so such a rule must be quick. Calls do not
// wait behind a request that got no answer.
//
// go-redis has an AutoPipeliner for the same purpose. It sends many EVALSHA in one
// round trip, and each checks the node again. With 256 callers on two cores it made a
// third of the calls. Its calls to a frozen server also outlive their deadlines.
//
// # Logging of go-redis
//
// go-redis prints failed dials to standard error through a global logger. This package
// leaves that logger alone. Its dialer returns a connection whose first write fails,
// which go-redis only reports as an error.
package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

// work carries a call, then the calls that wait behind it, then those of other lanes.
func (c *client) work(q *call) {
	var words []any // reused for each request
	for {
		for batch := []*call{q}; len(batch) > 0; batch = q.lane.take() {
			words = q.lane.send(batch, words)
		}
		select {
		case q = <-c.idle:
		case <-c.over:
			return
		}
	}
}

const (
	// laneWidth is how many requests of one script may be in flight at one node.
	laneWidth = 2
	// batchCalls bounds the calls in a request, so it keeps the node busy for about a
	// millisecond at most.
	batchCalls = 64
)

// A lane carries the calls of one script to one node. A call is sent at once and alone,
// unless laneWidth requests are in flight. Then it waits until one of them returns, and
// is sent together with all other waiting calls.
type lane struct {
	client *client
	script *Script

	// Guarded by the client's mutex.
	busy    int
	waiting []*call
}

// enter sends a call of the script, or queues it.
func (c *client) enter(script *Script, q *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[script]
	if l == nil {
		l = &lane{client: c, script: script}
		c.lanes[script] = l
	}
	q.lane, q.since = l, time.Now()
	switch {
	case c.closed:
		q.unsent(redis.ErrClosed)
	case l.busy == laneWidth:
		l.waiting = append(l.waiting, q)
	default:
		l.busy++
		select {
		case c.idle <- q:
		default:
			c.carriers.Go(func() { c.work(q) })
		}
	}
}

// take returns the next calls to send together. They have the same header. Calls that
// have waited too long fail. If there is nothing to send, it frees its place.
func (l *lane) take() []*call {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	var batch []*call
	n, now := 0, time.Now()
	for _, q := range l.waiting {
		if len(batch) == batchCalls || len(batch) > 0 && *batch[0].header != *q.header {
			break
		}
		n++
		if now.Sub(q.since) > l.patience(q) {
			q.unsent(errUnsent)
		} else {
			batch = append(batch, q)
		}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	if len(batch) == 0 {
		l.busy--
	}
	return batch
}

// patience is how long a call waits to be sent. If enough other nodes have answered,
// this node is slow, so the call waits only briefly. Otherwise all nodes or this
// process are slow, and giving up would add to the load.
func (l *lane) patience(q *call) time.Duration {
	if int(q.fan.answers.Load()) >= q.fan.Quorum {
		return l.client.timeout / 2
	}
	return max(l.client.timeout/2, l.client.patience)
}

// refuse fails all waiting calls. The mutex must be held.
func (l *lane) refuse(err error) {
	for _, q := range l.waiting {
		q.unsent(err)
	}
	l.waiting = nil
}

// A Fan is a set of calls to several nodes, of which a quorum decides. It may be used
// by many goroutines.
type Fan struct {
	Quorum  int
	answers atomic.Int32 // number of nodes that answered
}

// Start calls a rule at a node and does not wait. It calls done once with the result,
// from any goroutine, perhaps before it returns. Of ctx only the values are used.
//
// The call may wait for earlier ones to the node before it is sent: for half of the
// timeout if a quorum has answered, else for Config.Patience.
func (f *Fan) Start(ctx context.Context, to *Link, rule *Script, h *Header, keys Keys, args []any, done func(Answer)) {
	c, ok := to.transport.(*client)
	if !ok {
		go func() { done(to.Eval(context.WithoutCancel(ctx), rule, h, keys.names, args)) }()
		return
	}
	c.enter(rule, &call{fan: f, header: h, keys: keys, args: args, done: done})
}

// A call is one call of a rule to one node.
type call struct {
	fan    *Fan
	header *Header
	keys   Keys
	args   []any
	done   func(Answer)

	lane  *lane
	since time.Time // when it entered the lane
}

// answer passes the caller the result of its request: an error, or a reply in parts.
func (q *call) answer(sent, received time.Time, err error, result ...[]any) {
	a := Answer{Sent: sent, Received: received}.with(q.lane.script, err, result...)
	if err == nil {
		q.fan.answers.Add(1)
	}
	q.done(a)
}

// unsent tells the caller that the call was not sent. It does not wait, since the mutex
// is held.
func (q *call) unsent(err error) {
	go q.done(Answer{Sent: q.since, Received: time.Now(), Err: err})
}

// A Header is the start of every request of a client to a node: its first key and its
// first arguments, see head.lua.
type Header struct {
	Key  string
	Args [4]any
}

// Keys are names of keys, converted once to be sent to many nodes.
type Keys struct {
	names []string
	words []any
}

// NewKeys returns the names as Keys.
func NewKeys(names []string) Keys {
	k := Keys{names: names, words: make([]any, len(names))}
	for i, name := range names {
		k.words[i] = name
	}
	return k
}

// Names returns the names.
func (k Keys) Names() []string { return k.names }

// with returns the keys and arguments of a request with one call.
func (h *Header) with(keys []string, args []any) ([]string, []any) {
	return append(append(make([]string, 0, 1+len(keys)), h.Key), keys...),
		append(append(make([]any, 0, len(h.Args)+len(args)), h.Args[:]...), args...)
}

// send sends the calls in one request, written into words, and answers each. If the
// node is silent, it fails the calls that wait.
func (l *lane) send(batch []*call, words []any) []any {
	ctx, cancel := context.WithTimeout(context.Background(), l.client.timeout)
	defer cancel()
	script, keys, words := l.pack(batch, words)
	start := time.Now()
	v, err := l.client.run(ctx, script, l.client.copiesOf(l.script), keys, words)
	end := time.Now()
	err = callError(ctx, err)
	l.client.mu.Lock()
	err, silence := l.client.judge(start, end, err)
	switch {
	case l.client.closed:
		l.refuse(redis.ErrClosed)
	case silence != nil:
		l.refuse(fmt.Errorf("%w: %w", errUnsent, silence))
	}
	l.client.mu.Unlock()
	distribute(batch, start, end, v, err)
	clear(words)
	return words
}

// pack writes one call as one.lua reads it, or several as many.lua reads them.
func (l *lane) pack(batch []*call, words []any) (script *redis.Script, keys int, all []any) {
	h := batch[0].header
	all = append(append(words[:0], make([]any, evalshaWords)...), h.Key)
	for _, q := range batch {
		all = append(all, q.keys.words...)
	}
	keys = len(all) - evalshaWords
	all = append(all, h.Args[:]...)
	if len(batch) == 1 {
		return l.script.one, keys, append(all, batch[0].args...)
	}
	for _, q := range batch {
		all = append(append(all, len(q.keys.words), len(q.args)), q.args...)
	}
	return l.script.many, keys, all
}

// distribute gives each call its own answer, see many.lua.
func distribute(batch []*call, start, end time.Time, v any, err error) {
	all := list(v)
	if len(batch) == 1 || err != nil || len(all) == 0 || isWord(all[0]) {
		for _, q := range batch {
			q.answer(start, end, err, all) // of the server, or of the checks before the rule
		}
		return
	}
	head := min(len(all), batchHead)
	rest := all[head:]
	for _, q := range batch {
		var own []any
		if len(rest) == 0 {
			err = oddReply(fmt.Sprintf("%v of %d calls", all[0], len(batch)))
		} else {
			own, rest, err = cut(rest)
		}
		if err != nil {
			q.answer(start, end, err)
			continue
		}
		q.answer(start, end, nil, own[:1], all[1:head], own[1:])
	}
}

// batchHead is how many elements come before the replies to the calls: their number,
// the clock and the floor.
const batchHead = 3

// cut splits off the reply to the first call, without clock and floor, or says why it
// cannot.
func cut(rest []any) (own, left []any, err error) {
	words, ok := rest[0].(int64)
	switch {
	case ok && words < 0:
		return nil, rest[1:], oddReply("too little")
	case !ok || max(words, 1) >= int64(len(rest)):
		return nil, nil, oddReply(fmt.Sprint(rest[0]))
	case words == 0:
		return nil, rest[2:], serverError(fmt.Sprint(rest[1]))
	}
	return rest[1 : 1+words], rest[1+words:], nil
}

func isWord(v any) bool {
	_, ok := v.(string)
	return ok
}
