package etcd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store"
)

// limits are those of etcd's defaults: 128 operations and 1.5 MiB in a request.
var limits = store.Limits{Keys: 120, Bytes: 1 << 20}

// Bounds of connections.
const (
	pingEvery   = 10 * time.Second // and only during calls: etcd closes connections with more
	pingTimeout = time.Second
	longest     = 10 * time.Second // of a call whose context has no end
)

// A server is a [store.Store] on the members of one etcd cluster. It talks to one member, and
// to the next one if that does not answer.
type server struct {
	config.EtcdConfig
	fresh  func() (config.Login, error) // the login as it is now
	prefix string                       // of all keys

	turn  chan struct{}         // held by the call that logs in
	token atomic.Pointer[token] // of the last login

	mu       sync.Mutex
	clients  []*clientv3.Client // by member; nil: not yet used
	at       int                // the member in use
	known    life
	revision int64 // the largest that was seen in that life
}

// open returns the store of a configuration that was checked.
func open(c config.Cluster) *server {
	members := len(c.Etcd.Endpoints)
	s := &server{
		EtcdConfig: c.Etcd, fresh: c.Login, prefix: "quorate/" + c.Namespace + "/", turn: make(chan struct{}, 1),
		clients: make([]*clientv3.Client, members), at: rand.IntN(members),
	}
	s.token.Store(new(token))
	return s
}

// Name implements [store.Server].
func (s *server) Name() string {
	return "etcd " + strings.NewReplacer("http://", "", "https://", "").Replace(strings.Join(s.Endpoints, ","))
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

// client returns that of the member in use, and its place. It connects with the first call.
func (s *server) client() (*clientv3.Client, int, error) {
	s.mu.Lock()
	at, c := s.at, s.clients[s.at]
	s.mu.Unlock()
	if c != nil {
		return c, at, nil
	}
	now, err := s.fresh()
	if err != nil {
		return nil, at, loginError{err}
	}
	c, err = clientv3.New(clientv3.Config{
		Endpoints: s.Endpoints[at : at+1], TLS: now.TLS, Logger: zap.NewNop(),
		DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries: 1, // do goes to the next member instead
	})
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
		s.at = (at + 1) % len(s.Endpoints)
	}
}

// do makes a call of the member in use. If that does not answer, it asks the others: for
// what may be repeated, and for what was not sent.
func (s *server) do(ctx context.Context, repeatable bool, call func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for left := len(s.Endpoints); ; left-- {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", store.ErrNotSent, ctx.Err())
		}
		c, at, err := s.client()
		sent := false
		if err == nil {
			sent, err = s.ask(ctx, repeatable, left > 1, c, call)
		}
		if err == nil {
			return nil
		}
		err, away := s.judge(ctx, err, sent, s.Endpoints[at])
		if away {
			s.leave(at)
		}
		if !away || left == 1 || sent && !repeatable {
			return err
		}
	}
}

// ask makes one call, as the user. If etcd refuses the token, it has done nothing: then the call is
// repeated with another one. What may be repeated at another member takes at most half of the time
// that is left. It reports whether the call was sent.
func (s *server) ask(ctx context.Context, repeatable, others bool, c *clientv3.Client, call func(context.Context, *clientv3.Client) error) (sent bool, err error) {
	half, cancel := ctx, context.CancelFunc(func() {})
	if until, _ := ctx.Deadline(); others {
		half, cancel = context.WithTimeout(ctx, time.Until(until)/2)
	}
	defer cancel()
	if repeatable {
		ctx = half
	}
	var last token
	for range logins {
		if last, err = s.login(half, c, last); err != nil {
			return false, err
		}
		if err = call(last.in(ctx), c); !refusesToken(err) {
			break
		}
	}
	return !neverSent(err), err
}
