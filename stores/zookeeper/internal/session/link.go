package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/config"
)

var (
	errEnded  = errors.New("the connection has ended")
	errClosed = errors.New("the server has closed the new connection without a word: it may have no quorum, " +
		"expect TLS, or take no more connections from this machine (maxClientCnxns)")
)

// A link is one session over one network connection. The client would connect again by itself,
// and nobody would know over which connection a call was sent. A restored server would also refuse
// a session that has seen more than it knows.
type link struct {
	*zk.Conn
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
	at := c.Servers[c.at]
	c.mu.Unlock()
	l, err := c.connect(ctx, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.at = (c.at + 1) % len(c.Servers)
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
	case l.State() != zk.StateHasSession:
		c.leaveLocked(l)
	default:
		l.calls++
		return l
	}
	return nil
}

// outdated reports whether the user or the password has been rotated since the link was opened.
func (c *Client) outdated(l *link) bool {
	now, err := c.Login()
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
	c.link, c.at, l.left = nil, (c.at+1)%len(c.Servers), true
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
	if l.login, err = c.Login(); err != nil {
		l.end(err)
		return l, err
	}
	l.Conn, l.events, err = zk.Connect([]string{at}, sessionTimeout,
		zk.WithDialer(c.dialer(l)), zk.WithHostProvider(&only{server: at}), zk.WithLogger(silent{}))
	if err != nil {
		l.end(err)
		return l, err
	}
	opened := make(chan error, 1)
	c.running.Go(func() {
		err := l.await()
		if err == nil && l.login.Username != "" {
			err = l.AddAuth("digest", []byte(l.login.Username+":"+l.login.Password))
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
	l.Close()
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

// silent is a log that nobody reads: what matters comes as an error.
type silent struct{}

func (silent) Printf(string, ...any) {}
