package etcd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// limits are those of etcd's defaults: 128 operations and 1.5 MiB in a request.
var limits = kv.Limits{Keys: 120, Bytes: 1 << 20}

// Bounds of connections.
const (
	pingEvery   = 10 * time.Second // and only during calls: etcd closes connections with more
	pingTimeout = time.Second
	longest     = 10 * time.Second // of a call whose context has no end
)

// pauses are those between connections to a member that fail.
var pauses = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second}

// A server is a [kv.Store] on the members of one etcd cluster. It talks to one member, and
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

// Name implements [kv.Server].
func (s *server) Name() string {
	return "etcd " + strings.NewReplacer("http://", "", "https://", "").Replace(strings.Join(s.Endpoints, ","))
}

// Limits implements [kv.Store].
func (s *server) Limits() kv.Limits { return limits }

// Close implements [kv.Server].
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
	defer s.mu.Unlock()
	if c := s.clients[s.at]; c != nil {
		return c, s.at, nil
	}
	options := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: longest}), grpc.WithChainUnaryInterceptor(keepReason),
	}
	if strings.HasPrefix(s.Endpoints[s.at], "https://") {
		options = append(options, grpc.WithTransportCredentials(certificates{credentials.NewTLS(nil), s.fresh}))
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: s.Endpoints[s.at : s.at+1], Logger: zap.NewNop(), DialOptions: options,
		DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries: 1, // do goes to the next member instead
	})
	s.clients[s.at] = c
	return c, s.at, err
}

// keepReason tells calls apart that were not sent. They wait for a connection until the context ends,
// and the client would forget why there was none.
func keepReason(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := call(ctx, method, request, reply, c, options...)
	text := status.Convert(err).Message()
	if why, found := strings.CutPrefix(text, "latest balancer error: "); found || strings.HasSuffix(text, "while waiting for connections to become ready") {
		return unsentError(why)
	}
	return err
}

// An unsentError is why a call was not sent: there was no connection.
type unsentError string

func (e unsentError) Error() string { return string(e) }

// certificates are those of each new connection, as they are then.
type certificates struct {
	credentials.TransportCredentials
	fresh func() (config.Login, error)
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c certificates) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	now, err := c.fresh()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(now.TLS).ClientHandshake(ctx, authority, conn)
}

// Clone implements [credentials.TransportCredentials].
func (c certificates) Clone() credentials.TransportCredentials { return c }

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
			return fmt.Errorf("%w: %w", kv.ErrNotSent, ctx.Err())
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
	_, unsent := errors.AsType[unsentError](err)
	return !unsent, err
}
