// Package session calls ZooKeeper with contexts: it talks to one server, and to the next one if
// that does not answer. Its errors say whether a call may have been made.
package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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

// A Config says where the servers are.
type Config struct {
	Servers []string // as host:port
	// Login is asked by each connection, so what is rotated is used. Default: no user, no TLS.
	Login func() (config.Login, error)
}

// A Client makes calls, from any goroutine.
type Client struct {
	Config

	turn    chan struct{}  // held by who opens a link
	running sync.WaitGroup // everything that was begun

	mu   sync.Mutex
	at   int   // the server in use
	link *link // to it; nil: not yet connected
}

// New returns a client that is not yet connected.
func New(c Config) (*Client, error) {
	if len(c.Servers) == 0 {
		return nil, errors.New("zookeeper: no servers")
	}
	if c.Login == nil {
		c.Login = func() (config.Login, error) { return config.Login{}, nil }
	}
	return &Client{Config: c, turn: make(chan struct{}, 1), at: rand.IntN(len(c.Servers))}, nil
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
	for left := len(c.Servers); ; left-- {
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
		value, err := call(ctx, l.Conn)
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
