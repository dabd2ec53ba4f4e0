// Package session calls ZooKeeper with contexts: it talks to one server, and to the next one if
// that does not answer. Its errors say whether a call may have been made.
package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// Bounds of connections.
const (
	sessionTimeout = 6 * time.Second  // nothing depends on it
	loginTimeout   = time.Second      // for a session
	longest        = 10 * time.Second // of a call whose context has no end
)

// A Client makes calls, from any goroutine.
type Client struct {
	// Wrap, if set, stands between ZooKeeper's client and each new connection. Tests record there.
	Wrap func(net.Conn) net.Conn

	servers []string // as host:port
	login   func() (config.Login, error)

	turn    chan struct{}  // held by the call that opens a link
	running sync.WaitGroup // everything that was begun

	mu   sync.Mutex
	at   int   // the server in use
	link *link // to it; nil: not yet connected
}

// New returns a client that is not yet connected, for at least one server. Each connection asks
// for the login, so what is rotated is used.
func New(servers []string, login func() (config.Login, error)) *Client {
	return &Client{servers: servers, login: login, turn: make(chan struct{}, 1), at: rand.IntN(len(servers))}
}

// Close ends the session, and waits for the calls that were left behind.
func (c *Client) Close() {
	if l := c.current(); l != nil {
		c.leave(l)
		c.release(l)
	}
	c.running.Wait()
}

// Do makes a call of the server in use. If that does not answer, it asks the others: for what
// may be repeated, and for what was not sent.
func Do[T any](ctx context.Context, c *Client, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (v T, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for left := len(c.servers); ; left-- {
		if ctx.Err() != nil {
			return v, fmt.Errorf("%w: %w", kv.ErrNotSent, ctx.Err())
		}
		l, err := c.acquire(ctx, left > 1)
		sent := err == nil
		if sent {
			v, err = ask(ctx, c, l, repeatable && left > 1, call)
			sent = !errors.Is(err, zk.ErrNoServer)
		}
		if err == nil {
			return v, nil
		}
		if IsRefusal(err) && c.outdated(l) { // it has done nothing
			c.leave(l)
			left++
			continue
		}
		err, away := judge(ctx, err, sent, l.server)
		if away {
			c.leave(l)
		}
		if !away || left == 1 || sent && !repeatable {
			return v, err
		}
	}
}

// ask makes one call. If it may be repeated at another server, it takes at most half of the
// time that is left. The client knows no contexts: a call that takes longer is left behind. It
// ends when the server answers, or has been silent for two thirds of the session's timeout.
func ask[T any](ctx context.Context, c *Client, l *link, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (v T, err error) {
	ctx, cancel := sharing(ctx, repeatable)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	c.running.Go(func() {
		defer c.release(l)
		value, err := call(ctx, l.conn)
		answers <- answer{value, err}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// sharing bounds a call by half of the time that is left, if another server may be asked, too.
func sharing(ctx context.Context, others bool) (context.Context, context.CancelFunc) {
	until, _ := ctx.Deadline()
	if others {
		until = time.Now().Add(time.Until(until) / 2)
	}
	return context.WithDeadline(ctx, until)
}

// IsRefusal reports whether ZooKeeper has refused a call, so trying again cannot help.
func IsRefusal(err error) bool {
	return errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed) || errors.Is(err, zk.ErrInvalidACL)
}

// judge turns an error of ZooKeeper's client into one of a store. It reports whether another
// server may do better.
func judge(ctx context.Context, err error, sent bool, at string) (_ error, away bool) {
	if IsRefusal(err) {
		return err, false
	}
	because := kv.ErrUnavailable
	if !sent {
		because = kv.ErrNotSent
	}
	return fmt.Errorf("%w: %s: %w", because, at, retry.Ended(ctx, err)), !errors.Is(ctx.Err(), context.Canceled)
}

var (
	errEnded  = errors.New("the connection has ended")
	errClosed = errors.New("the server has closed the new connection without a word: it may have no quorum, " +
		"expect TLS, or take no more connections from this machine (maxClientCnxns)")
)

// A link is one session over one network connection. The client would connect again by itself,
// and nobody would know over which connection a call was sent. A restored server would also refuse
// a session that has seen more than it knows.
type link struct {
	conn   *zk.Conn
	server string
	login  config.Login
	ended  context.Context
	end    context.CancelCauseFunc // ends the network connection
	events <-chan zk.Event

	calls int  // that use it, by the lock of the server
	left  bool // no more calls begin
}

// acquire returns a link to the server in use; release it. If it fails, the link tells which
// server was tried, and the next call tries another.
func (c *Client) acquire(ctx context.Context, others bool) (*link, error) {
	ctx, cancel := sharing(ctx, others)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return &link{server: "while another call connects"}, ctx.Err()
	}
	if l := c.current(); l != nil {
		return l, nil
	}
	c.mu.Lock()
	at := c.servers[c.at]
	c.mu.Unlock()
	l, err := c.connect(ctx, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.at = (c.at + 1) % len(c.servers)
		return l, err
	}
	l.calls, c.link = 1, l
	return l, nil
}

// current returns the link in use, if it has a session.
func (c *Client) current() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.link
	switch {
	case l == nil:
	case l.conn.State() != zk.StateHasSession:
		c.leaveLocked(l)
	default:
		l.calls++
		return l
	}
	return nil
}

// outdated reports whether the user or the password has been rotated since the link was opened.
func (c *Client) outdated(l *link) bool {
	now, err := c.login()
	return err == nil && (now.Username != l.login.Username || now.Password != l.login.Password)
}

// leave makes the next call go to another server.
func (c *Client) leave(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked(l)
}

func (c *Client) leaveLocked(l *link) {
	if c.link != l {
		return
	}
	c.link, c.at, l.left = nil, (c.at+1)%len(c.servers), true
	if l.calls == 0 {
		c.running.Go(l.close)
	}
}

func (c *Client) release(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.calls--; l.left && l.calls == 0 {
		c.running.Go(l.close)
	}
}

// connect opens a session with a server. After an error the link is closed, and only names the
// server.
func (c *Client) connect(ctx context.Context, at string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	l := &link{server: at}
	l.ended, l.end = context.WithCancelCause(context.Background())
	var err error
	if l.login, err = c.login(); err != nil {
		l.end(err)
		return l, err
	}
	l.conn, l.events, err = zk.Connect([]string{at}, sessionTimeout,
		zk.WithDialer(c.dialer(l)), zk.WithHostProvider(&only{server: at}), zk.WithLogger(noLog{}))
	if err != nil {
		l.end(err)
		return l, err
	}
	opened := make(chan error, 1)
	c.running.Go(func() {
		err := l.await()
		if err == nil && l.login.Username != "" {
			err = l.conn.AddAuth("digest", []byte(l.login.Username+":"+l.login.Password))
		}
		opened <- err
	})
	select {
	case err = <-opened:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		l.end(err)
		c.running.Go(l.close)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		err = fmt.Errorf("%w (%w)", errClosed, err)
	}
	return l, err
}

// await waits until the link has a session.
func (l *link) await() error {
	for {
		select {
		case <-l.ended.Done():
			return context.Cause(l.ended)
		case e := <-l.events:
			switch e.State {
			case zk.StateHasSession:
				return nil
			case zk.StateDisconnected, zk.StateExpired:
				return errClosed
			}
		}
	}
}

// close ends the session, if the server still answers, and waits for what the client has begun.
func (l *link) close() {
	l.conn.Close()
	l.end(errEnded)
	for range l.events {
	}
}

// dialer connects a link once.
func (c *Client) dialer(l *link) zk.Dialer {
	var dialed atomic.Bool
	return func(_, _ string, timeout time.Duration) (net.Conn, error) {
		if dialed.Swap(true) {
			return nil, errEnded
		}
		conn, err := Dial(l.ended, l.login.TLS, l.server, timeout)
		if err != nil {
			l.end(err)
			return nil, err
		}
		context.AfterFunc(l.ended, func() { _ = conn.Close() })
		if c.Wrap != nil {
			return c.Wrap(conn), nil
		}
		return conn, nil
	}
}

// Dial opens a network connection to a server; nil is without TLS.
func Dial(ctx context.Context, encrypted *tls.Config, at string, timeout time.Duration) (net.Conn, error) {
	plain := net.Dialer{Timeout: timeout}
	if encrypted == nil {
		return plain.DialContext(ctx, "tcp", at)
	}
	d := tls.Dialer{NetDialer: &plain, Config: encrypted}
	return d.DialContext(ctx, "tcp", at)
}

// only is a list of one server, whose name is resolved by each connection. When it is asked for
// the next one, the client pauses for a second, and looks whether it was closed.
type only struct {
	server string
	begun  bool
}

func (o *only) Init([]string) error { return nil }
func (o *only) Len() int            { return 1 }
func (o *only) Connected()          {}
func (o *only) Next() (server string, again bool) {
	again, o.begun = o.begun, true
	return o.server, again
}

// noLog drops what the client logs: what matters comes as an error.
type noLog struct{}

func (noLog) Printf(string, ...any) {}
