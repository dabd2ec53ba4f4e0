// Package etcd keeps everything in etcd, in place of Redis nodes. It is in a module of its
// own, so that nobody else carries etcd's client:
//
//	r, err := replica.New(replica.Config{
//		Etcd:  settings.Etcd{Endpoints: []string{"https://10.0.0.1:2379", …}},
//		Store: new(etcd.Store),
//		Jobs:  …,
//	})
//
// # On etcd
//
// A transaction of package kv is one of etcd. Versions are mod revisions, which grow
// with each change of any key, so they never repeat. Reads are linearizable: etcd asks a
// quorum of its members before it answers. Records of one answer have one revision.
//
// Leases of etcd are not used: a new leader renews all of them. Leases expire by
// observation, see package claims.
//
// Each key begins with quorate/NAMESPACE/. The key quorate/NAMESPACE/life has the store's incarnation.
// A process that finds another cluster behind it, or a revision below one that it has seen,
// writes the next incarnation. If no process was running when a backup was restored, and the
// cluster has the same identity, nothing shows it: then `quorate-etcd store init --restored` is
// needed. The identity is computed from the members' names and addresses and from the cluster's
// token, so a restored cluster often has the same.
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

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
)

// A Store opens the cluster that the etcd section names.
type Store struct{}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionEtcd }

// Address implements [replica.Store].
func (s *Store) Address() string { return "" }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	return open(cluster), nil
}

var _ replica.Store = (*Store)(nil)

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
	endpoints []string                     // of all members
	username  settings.Secret              // as the configuration has it
	fresh     func() (config.Login, error) // the login as it is now
	prefix    string                       // of all keys

	turn  chan struct{}         // held by the call that logs in
	token atomic.Pointer[token] // of the last login

	mu       sync.Mutex
	clients  []*clientv3.Client // by member; nil: not yet used
	at       int                // the member in use
	known    incarnation
	revision int64 // the largest that was seen in that incarnation
}

// open returns the store of a configuration that was checked.
func open(c config.Cluster) *server {
	members := len(c.Etcd.Endpoints)
	s := &server{
		endpoints: c.Etcd.Endpoints, username: c.Etcd.Username, fresh: c.Login, prefix: "quorate/" + c.Namespace + "/", turn: make(chan struct{}, 1),
		clients: make([]*clientv3.Client, members), at: rand.IntN(members),
	}
	s.token.Store(new(token))
	return s
}

// Name implements [kv.Server].
func (s *server) Name() string {
	return "etcd " + strings.NewReplacer("http://", "", "https://", "").Replace(strings.Join(s.endpoints, ","))
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
	if strings.HasPrefix(s.endpoints[s.at], "https://") {
		options = append(options, grpc.WithTransportCredentials(certificates{credentials.NewTLS(nil), s.fresh}))
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: s.endpoints[s.at : s.at+1], Logger: zap.NewNop(), DialOptions: options,
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
		err, away := s.judge(ctx, err, sent, s.endpoints[at])
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

// logins is how often a call is made: users may change again while it logs in.
const logins = 3

// A token shows who calls. All members take it. etcd forgets it after a while, in a restart, and
// when somebody changes users. The client of etcd could log in, too: but it sends the old token with
// that, which etcd 3.4 refuses for ever.
type token struct {
	text   string // empty: etcd asks for no user
	user   string // whose it is
	number int    // of the login; 0: none yet
}

// in returns the context of a call with the token.
func (t token) in(ctx context.Context) context.Context {
	if t.text == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, t.text)
}

// login returns a token that is newer than the one that was refused. Calls that wait for one share it.
func (s *server) login(ctx context.Context, c *clientv3.Client, refused token) (token, error) {
	if s.username == "" {
		return token{}, nil
	}
	if last := s.token.Load(); last.number > refused.number {
		return *last, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return token{}, loginError{ctx.Err()}
	}
	last := s.token.Load()
	if last.number > refused.number {
		return *last, nil
	}
	now, err := s.fresh()
	if err != nil {
		return token{}, loginError{err}
	}
	next := token{user: now.Username, number: last.number + 1}
	switch r, err := c.Authenticate(ctx, now.Username, now.Password); {
	case err == nil:
		next.text = r.Token
	case !errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return token{}, loginError{err}
	}
	s.token.Store(&next)
	return next, nil
}

// A loginError is why there is no token for a call, which was not made then.
type loginError struct{ error }

func (e loginError) Error() string { return "logging in for a token: " + e.error.Error() }

func (e loginError) Unwrap() error { return e.error }

// refusesToken reports whether etcd has refused a call because of its token, or because it had none.
// It has changed nothing then: it compares tokens before a transaction. Older releases have no code for
// a change of users.
func refusesToken(err error) bool {
	known := rpctypes.Error(err)
	return errors.Is(known, rpctypes.ErrInvalidAuthToken) || errors.Is(known, rpctypes.ErrAuthOldRevision) || errors.Is(known, rpctypes.ErrUserEmpty) ||
		err != nil && strings.Contains(err.Error(), "auth: revision in header is old")
}
