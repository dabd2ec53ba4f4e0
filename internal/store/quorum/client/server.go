package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server tells which Redis server has the node's data. A node may be a name behind which
// one server takes the place of another.
type server interface {
	find(ctx context.Context) (*redis.Client, error)
	// addr is the address of a server that find has returned and that has answered.
	addr(found *redis.Client) string
	// failed is told that a call failed, so that the server may be another one by now.
	failed(ctx context.Context)
	Close() error
}

// newServer connects to nothing yet.
func newServer(cfg Config, u URL) server {
	opts := options(cfg, u)
	switch {
	case len(u.seeds) == 0:
		return alone{redis.NewClient(opts)}
	case u.master != "":
		return newWatched(cfg, u, opts)
	}
	return shard{redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: slices.Clone(u.seeds), ContextTimeoutEnabled: true,
		MaintNotificationsConfig: opts.MaintNotificationsConfig,
		NewClient: func(of *redis.Options) *redis.Client {
			own := *opts
			own.Addr = of.Addr
			return redis.NewClient(&own)
		},
	}), cfg.Key}
}

// alone is a server at one address, or the master that Sentinels name.
type alone struct{ *redis.Client }

func (a alone) find(context.Context) (*redis.Client, error) { return a.Client, nil }
func (alone) addr(found *redis.Client) string               { return found.Options().Addr }
func (alone) failed(context.Context)                        {}

// A shard is the master of a Redis Cluster that has the slot of the key. ClusterClient is
// not asked to send requests: it repeats those that seem lost, and a copy may arrive late.
type shard struct {
	*redis.ClusterClient
	key string
}

func (s shard) find(ctx context.Context) (*redis.Client, error) { return s.MasterForKey(ctx, s.key) }
func (shard) addr(found *redis.Client) string                   { return found.Options().Addr }
func (s shard) failed(ctx context.Context)                      { s.ReloadState(ctx) }

// A watched server is the master that Sentinels name. A client of go-redis logs in to Sentinels
// with what it was made with: after these have got another password, a new client takes its place.
type watched struct {
	cfg  Config
	url  URL
	opts *redis.Options

	mu     sync.Mutex
	client *redis.Client
	with   URL // whose login of the Sentinels the client has
	dialed string
}

func newWatched(cfg Config, u URL, opts *redis.Options) *watched {
	w := &watched{cfg: cfg, url: u, opts: opts, with: u}
	dial := opts.Dialer
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = addr
		w.mu.Unlock()
		return dial(ctx, network, addr)
	}
	w.client = newFailover(opts, u)
	return w
}

func (w *watched) find(context.Context) (*redis.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client, nil
}

// addr is the master that Sentinels named for the latest connection.
func (w *watched) addr(*redis.Client) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dialed
}

func (w *watched) failed(context.Context) {
	_, now, err := w.cfg.now(w.url)
	w.mu.Lock()
	if err != nil || now.seedUser == w.with.seedUser && now.seedPassword == w.with.seedPassword {
		w.mu.Unlock()
		return
	}
	old := w.client
	w.client, w.with = newFailover(w.opts, now), now
	w.mu.Unlock()
	_ = old.Close() // calls that still use it fail, and are not counted against the node
}

func (w *watched) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client.Close()
}

// newFailover returns a client of the master that Sentinels name.
func newFailover(opts *redis.Options, u URL) *redis.Client {
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: u.master, SentinelAddrs: u.seeds, SentinelUsername: u.seedUser, SentinelPassword: u.seedPassword,
		CredentialsProviderContext: opts.CredentialsProviderContext, Dialer: opts.Dialer,
		Protocol: opts.Protocol, DisableIdentity: opts.DisableIdentity, ContextTimeoutEnabled: true,
		MaxRetries: opts.MaxRetries, DialerRetries: opts.DialerRetries,
		DialTimeout: opts.DialTimeout, ReadTimeout: opts.ReadTimeout, WriteTimeout: opts.WriteTimeout,
		PoolSize: opts.PoolSize, PoolTimeout: opts.PoolTimeout, ConnMaxIdleTime: opts.ConnMaxIdleTime,
		ReadBufferSize: opts.ReadBufferSize, WriteBufferSize: opts.WriteBufferSize,
	})
	c.AddHook(failedDials{opts.DialTimeout})
	return c
}

// failedDials turns Sentinels that name no master into a failedConn. A dial goes on after the
// call that needed it: a Sentinel is left for others only when it was silent twice for the
// timeout, and not if ctx ends before.
type failedDials struct{ timeout time.Duration }

func (f failedDials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*f.timeout)
		defer cancel()
		conn, err := next(ctx, network, addr)
		if err != nil {
			return failedConn{err: err}, nil
		}
		return conn, nil
	}
}
func (failedDials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (failedDials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A doer is a client, or a pipeline.
type doer interface {
	redis.Scripter
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// copied sends a request, and returns its result once so many replicas have what it
// wrote. It waits for them for the patience at most, which a server that has nothing else
// to do notices up to 100 ms late.
func copied(ctx context.Context, to *redis.Client, copies int, patience time.Duration, send func(doer) *redis.Cmd) (any, error) {
	if copies == 0 {
		return send(to).Result()
	}
	pipe := to.Pipeline() // WAIT counts what its own connection wrote
	request := send(pipe)
	wait := pipe.Do(ctx, "wait", copies, patience.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	v, err := request.Result()
	if err != nil {
		return nil, err
	}
	have, err := wait.Int()
	if refusal, refused := errors.AsType[redis.Error](err); refused { // of WAIT: the request has run
		err = &CopiesError{Want: copies, Why: serverError(refusal.Error()).Error()}
	} else if err == nil && have < copies {
		err = &CopiesError{Have: have, Want: copies}
	}
	return v, err
}

// copiesOf is how many replicas must have what the script wrote.
func (c *client) copiesOf(s *Script) int {
	if s.copied {
		return c.copies
	}
	return 0
}
