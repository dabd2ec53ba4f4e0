package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorate/quorate/internal/store"
)

// limits are those of etcd's defaults: 128 operations and 1.5 MiB in a request.
var limits = store.Limits{Keys: 120, Bytes: 1 << 20}

// Bounds of connections.
const (
	loginTimeout = time.Second      // for the token of a user
	pingEvery    = 10 * time.Second // and only during calls: etcd closes connections with more
	pingTimeout  = time.Second
	longest      = 10 * time.Second // of a call whose context has no end
)

// options say where the records are.
type options struct {
	endpoints          []string
	username, password string
	tls                *tls.Config
	namespace          string
}

// A server is a [store.Store] on the members of one etcd cluster. It talks to one member, and
// to the next one if that does not answer.
type server struct {
	options
	prefix string // of all keys

	mu      sync.Mutex
	clients []*clientv3.Client // by member; nil: not yet connected
	at      int                // the member in use
	lives   lives
}

var _ store.Server = (*server)(nil)

func open(o options) (*server, error) {
	if len(o.endpoints) == 0 {
		return nil, errors.New("etcd: no endpoints")
	}
	return &server{
		options: o, prefix: "quorate/" + o.namespace + "/",
		clients: make([]*clientv3.Client, len(o.endpoints)), at: rand.IntN(len(o.endpoints)),
	}, nil
}

// Name implements [store.Server].
func (s *server) Name() string {
	name := "etcd " + strings.Join(s.endpoints, ",")
	return strings.NewReplacer("http://", "", "https://", "").Replace(name)
}

// Limits implements [store.Store].
func (s *server) Limits() store.Limits { return limits }

// Close implements [store.Server].
func (s *server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if c != nil {
			_ = c.Close()
		}
	}
}

// client returns a connection to the member in use, and its place.
func (s *server) client(ctx context.Context) (*clientv3.Client, int, error) {
	s.mu.Lock()
	at := s.at
	c := s.clients[at]
	s.mu.Unlock()
	if c != nil {
		return c, at, nil
	}
	config := clientv3.Config{
		Endpoints: s.endpoints[at : at+1], Username: s.username, Password: s.password, TLS: s.tls, Logger: zap.NewNop(),
		DialTimeout: loginTimeout, DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries: 1, // do goes to the next member instead
	}
	if until, bounded := ctx.Deadline(); bounded {
		config.DialTimeout = min(loginTimeout, time.Until(until))
	}
	c, err := clientv3.New(config) // it calls the member only to log in
	if err != nil {
		return nil, at, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.clients[at]; other != nil {
		_ = c.Close()
		return other, at, nil
	}
	s.clients[at] = c
	return c, at, nil
}

// leave makes the next call go to another member.
func (s *server) leave(at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == at {
		s.at = (at + 1) % len(s.endpoints)
	}
}

// do makes a call of the member in use. If that does not answer, it asks the others: for
// what may be repeated, and for what was not sent.
func (s *server) do(ctx context.Context, repeatable bool, call func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for left := len(s.endpoints); ; left-- {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", store.ErrNotSent, ctx.Err())
		}
		c, at, err := s.client(ctx)
		sent := err == nil
		if sent {
			err = s.ask(ctx, repeatable && left > 1, c, call)
			sent = !neverSent(err)
		}
		if err == nil {
			return nil
		}
		err, away := s.judge(ctx, err, sent, s.endpoints[at])
		if away {
			s.leave(at)
		}
		if !away || left == 1 || sent && !repeatable {
			return err
		}
	}
}

// ask makes one call. If it may be repeated at another member, it takes at most half of the
// time that is left.
func (s *server) ask(ctx context.Context, repeatable bool, c *clientv3.Client, call func(context.Context, *clientv3.Client) error) error {
	if until, _ := ctx.Deadline(); repeatable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
	}
	return call(ctx, c)
}
