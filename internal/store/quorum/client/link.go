package client

import (
	"cmp"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Config says how to reach nodes.
type Config struct {
	// Username and Password are for nodes whose URL names none.
	Username string
	Password string
	// Credentials, if not nil, returns the user and the password of a new connection, in place of those two.
	Credentials func(ctx context.Context) (username, password string, err error)
	// TLS is for nodes with a rediss:// URL. The server name defaults to the URL's
	// host.
	TLS *tls.Config
	// Fresh, if not nil, returns the user, the password, TLS and the URL as they are now. It is
	// called for each connection.
	Fresh func() (Config, URL, error)
	// Timeout bounds each call to a node.
	Timeout time.Duration
	// Patience is how long a call may wait to be sent while no quorum of the nodes has
	// answered.
	Patience time.Duration

	// Copies is how many replicas of the node must have what a [Script.Copied] script wrote
	// before its answer counts.
	Copies int
	// Key is in the slot of all keys. A node that is a Redis Cluster is asked where its slot
	// has its server.
	Key string

	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Transport replaces the network and Redis itself, for simulations.
	Transport Transport

	// Down and Up, if not nil, are called when a node stops answering, and when it
	// answers again.
	Down func(node string, err error)
	Up   func(node string)
}

// A Link calls one node and tracks whether it answers. It may be used by many
// goroutines.
type Link struct {
	name      string
	url       URL
	cfg       Config
	transport Transport
	health    health
}

// NewLink returns the Link to the node at u, without contacting it. It must be closed.
func NewLink(name string, u URL, cfg Config) *Link {
	l := &Link{name: name, url: u, cfg: cfg, transport: cfg.Transport}
	if l.transport == nil {
		l.transport = newClient(newServer(cfg, u), cfg)
	}
	return l
}

// URL returns the node's address.
func (l *Link) URL() URL { return l.url }

// Server is the address of the server that answered last; that of the node if it is not known.
func (l *Link) Server() string {
	if c, ok := l.transport.(*client); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		return cmp.Or(c.at, l.url.Addr)
	}
	return l.url.Addr
}

// Close closes the connections. Calls in flight fail.
func (l *Link) Close() error {
	if c, ok := l.transport.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// An Answer is the result of one call to one node.
type Answer struct {
	// Words are the script's reply, at least two; nil if Err is set.
	Words []string
	// Err is a *ServerError, or a connection failure. After such a failure the script
	// may have run, or may still run, unless the call is Unsent.
	Err error
	// Sent and Received are by the local clock, with monotonic reading.
	Sent, Received time.Time
}

// with adds a script's result, in parts, to the Answer.
func (a Answer) with(script *Script, err error, result ...[]any) Answer {
	if a.Err = err; err != nil {
		return a
	}
	if a.Words, err = words(result); err != nil {
		a.Err = fmt.Errorf("script %s: %w", script.name, err)
	}
	return a
}

// words converts a script's result to strings. It accepts numbers and nils, so a
// mistake in a script shows as a strange reply, not as a lost one.
func words(result [][]any) ([]string, error) {
	n := 0
	for _, part := range result {
		n += len(part)
	}
	if n < 2 {
		return nil, oddReply(fmt.Sprint(result[0]))
	}
	out := make([]string, 0, n)
	for _, part := range result {
		for _, e := range part {
			switch e := e.(type) {
			case string:
				out = append(out, e)
			case int64:
				out = append(out, strconv.FormatInt(e, 10))
			case nil:
				out = append(out, "")
			default:
				return nil, oddReply(fmt.Sprint(part))
			}
		}
	}
	return out, nil
}

// list returns a script's result as a list, of one element if it is not a list.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// Eval runs the script on the node in its own request, even if the node is down.
func (l *Link) Eval(ctx context.Context, script *Script, h *Header, keys []string, args []any) Answer {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	keys, args = h.with(keys, args)
	a := Answer{Sent: time.Now()}
	v, err := l.transport.Eval(ctx, l.name, script, keys, args)
	a.Received = time.Now()
	return a.with(script, callError(ctx, err), list(v))
}

// Info returns the server's INFO, even if the node is down.
func (l *Link) Info(ctx context.Context) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	text, err := l.transport.Info(ctx, l.name)
	return parseInfo(text), callError(ctx, err)
}

// ask calls the server, even if the node is down. A Transport other than Redis is not asked.
func (l *Link) ask(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	c, ok := l.transport.(*client)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	return callError(ctx, c.call(ctx, func(to *redis.Client) error { return f(ctx, to) }))
}

// Holds reports whether the server holds the key. A Transport other than Redis holds only what
// scripts store.
func (l *Link) Holds(ctx context.Context, key string) (bool, error) {
	var n int64
	err := l.ask(ctx, func(ctx context.Context, to *redis.Client) (err error) {
		n, err = to.Exists(ctx, key).Result()
		return err
	})
	return n > 0, err
}

// Setting reads a line of the server's configuration. It returns "" if it may not: the
// user need not have CONFIG, and managed servers deny it.
func (l *Link) Setting(ctx context.Context, name string) string {
	var values map[string]string
	_ = l.ask(ctx, func(ctx context.Context, to *redis.Client) (err error) {
		values, err = to.ConfigGet(ctx, name).Result()
		return err
	})
	return values[name]
}

// health tracks whether a node answers.
type health struct {
	mu      sync.Mutex
	cause   error     // why the node is down; nil if it is up
	since   time.Time // of the last failure
	probing bool      // a call was let through and has not returned
	heard   time.Time // of the last answer
}

// Admit returns nil if the node may be called, else an error that matches ErrDown. A
// node that is down gets one call after each pause; with pause 0 it gets none.
func (l *Link) Admit(pause time.Duration) error {
	h := &l.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		return nil
	}
	if pause > 0 && !h.probing && time.Since(h.since) >= pause {
		h.probing = true
		return nil
	}
	return fmt.Errorf("%w (last tried at %s): %w", ErrDown, h.since.UTC().Format("15:04:05.000"), h.cause)
}

// Health returns when the node last answered, and why it is down; nil if it is up.
func (l *Link) Health() (heard time.Time, down error) {
	l.health.mu.Lock()
	defer l.health.mu.Unlock()
	return l.health.heard, l.health.cause
}

// Observe updates the node's health from the result of a call.
func (l *Link) Observe(ctx context.Context, err error) {
	h := &l.health
	h.mu.Lock()
	was := h.cause
	h.probing = false
	switch {
	case neverAsked(err):
	case Answered(err):
		h.cause, h.heard = nil, time.Now()
	case gaveUp(ctx), errors.Is(err, errLate):
	default:
		h.cause, h.since = err, time.Now()
	}
	is := h.cause
	h.mu.Unlock()
	switch {
	case was != nil && is == nil && l.cfg.Up != nil:
		l.cfg.Up(l.name)
	case was == nil && is != nil && l.cfg.Down != nil:
		l.cfg.Down(l.name, is)
	}
}

//go:embed head.lua
var headLua string

//go:embed one.lua
var oneLua string

//go:embed many.lua
var manyLua string

// A Script runs atomically on a node. It may be used by many goroutines.
type Script struct {
	name, text string
	one        *redis.Script
	many       *redis.Script // many calls in one request; nil if it is no rule
	copied     bool
}

// NewScript returns a Script whose text can use the declarations of head.lua.
func NewScript(name, text string) *Script {
	text = headLua + text
	return &Script{name: name, text: text, one: redis.NewScript(text)}
}

// NewRule returns a Script whose calls each run rule, the body of a function that
// returns {code, nowtext, …strings}. A request runs before once for all its calls.
// Before declares floor, which callers get as the third word. If it returns, that is
// the answer to all calls.
func NewRule(name, before, rule string) *Script {
	text := before + "local function rule()\n" + rule + "\nend\n"
	s := NewScript(name, text+oneLua)
	s.many = redis.NewScript(headLua + text + manyLua)
	return s
}

// Copied returns a copy whose answer counts only when Config.Copies replicas have what it
// wrote. A call that too few have fails with a *CopiesError.
func (s *Script) Copied() *Script {
	c := *s
	c.copied = true
	return &c
}

// Name returns the name given to the script.
func (s *Script) Name() string { return s.name }

// Source returns the whole text, as nodes run it for one call.
func (s *Script) Source() string { return s.text }
