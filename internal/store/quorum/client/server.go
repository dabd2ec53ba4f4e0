package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize bounds the requests in flight at one node. Rules that a Fan starts need two
// each. Other callers queue, for up to half of their time.
const poolSize = 32

// virtualPoolSize is more than a test has in flight. The queue of go-redis keeps its
// timers for the whole process: one made in virtual time breaks every other test.
const virtualPoolSize = 4096

// maxIdle is below the idle timeouts of servers, proxies and firewalls: a connection
// closed by one of them costs a vote.
const maxIdle = time.Minute

// options are those of a client whose waits all end at the deadline of the call. It
// retries nothing: the copy of a request that seems lost may arrive after a later request.
func options(cfg Config, u URL) *redis.Options {
	opts := redis.Options{Addr: u.Addr, CredentialsProviderContext: func(ctx context.Context) (username, password string, err error) {
		now, at, err := cfg.now(u)
		switch {
		case err != nil || at.username != "" || at.password != "":
			return at.username, at.password, err
		case cfg.Credentials != nil:
			return cfg.Credentials(ctx)
		}
		return now.Username, now.Password, nil
	}}
	if u.base != nil {
		opts = *u.base
	}
	opts.Dialer = dialer(cfg, u)
	opts.Protocol, opts.DisableIdentity = 2, true
	opts.ContextTimeoutEnabled, opts.MaxRetries, opts.DialerRetries = true, -1, 1
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = cfg.Timeout, cfg.Timeout, cfg.Timeout
	// A deadline that ends in the queue would look like a silent node.
	opts.PoolTimeout = cfg.Timeout / 2
	opts.PoolSize, opts.MinIdleConns, opts.MaxIdleConns, opts.MaxActiveConns = poolSize, 0, 0, 0
	if cfg.Dial != nil {
		opts.PoolSize = virtualPoolSize
	}
	opts.ConnMaxIdleTime = maxIdle
	opts.ReadBufferSize, opts.WriteBufferSize = 8<<10, 8<<10
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &opts
}

// now is what a new connection begins with.
func (cfg Config) now(u URL) (Config, URL, error) {
	if cfg.Fresh == nil {
		return cfg, u, nil
	}
	return cfg.Fresh()
}

// dialer returns a connection even if dialling fails: see failedConn.
func dialer(cfg Config, u URL) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := cfg.Dial
	if u.base != nil { // it handles TLS itself
		if dial = u.base.Dialer; dial == nil {
			dial = redis.NewDialer(u.base)
		}
	}
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return failedConn{err: err}, nil //nolint:nilerr // the connection carries the error
		}
		now, at, err := cfg.now(u)
		if err == nil && !at.tls {
			return conn, nil
		}
		secured := tls.Client(conn, tlsConfig(now.TLS, host(addr)))
		if err == nil {
			err = secured.HandshakeContext(ctx)
		}
		if err != nil {
			_ = conn.Close()
			return failedConn{err: err}, nil //nolint:nilerr // as above
		}
		return secured, nil
	}
}

// host returns the host of host:port.
func host(addr string) string {
	host, _, _ := net.SplitHostPort(addr) // else the handshake says what is wrong
	return host
}

func tlsConfig(base *tls.Config, host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		c = base.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = host
	}
	return c
}

// A failedConn stands for a connection that could not be made. go-redis prints failed
// dials through a global logger, and starts to dial by itself after several. A
// connection that fails at its first write is only an error of the one call that needed
// it.
type failedConn struct{ err error }

func (c failedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)      { return 0, c.err }
func (failedConn) Close() error                     { return nil }
func (failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (failedConn) SetDeadline(time.Time) error      { return nil }
func (failedConn) SetReadDeadline(time.Time) error  { return nil }
func (failedConn) SetWriteDeadline(time.Time) error { return nil }

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
	closed bool // no other client takes the place of this one
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
	if err != nil || w.closed || now.seedUser == w.with.seedUser && now.seedPassword == w.with.seedPassword {
		w.mu.Unlock()
		return
	}
	old := w.client
	w.client, w.with = newFailover(w.opts, now), now
	w.mu.Unlock()
	_ = old.Close() // calls that still use it fail, and are not counted against the node
}

// Close waits for a call that asks the Sentinels, and such a call dials, which needs the mutex.
func (w *watched) Close() error {
	w.mu.Lock()
	last := w.client
	w.closed = true
	w.mu.Unlock()
	return last.Close()
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

// Info holds the fields of a server's INFO.
type Info map[string]string

func parseInfo(text string) Info {
	info := Info{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// RunID is the identifier that the server drew when it started.
func (i Info) RunID() string { return i["run_id"] }

// IsReplica reports whether the server follows another one.
func (i Info) IsReplica() bool { return i["role"] == "slave" || i["role"] == "replica" }

// Eviction is the server's maxmemory-policy.
func (i Info) Eviction() string { return i["maxmemory_policy"] }

// Version returns the server's release. Valkey also reports the Redis version it is
// compatible with.
func (i Info) Version() string {
	if v := i["valkey_version"]; v != "" {
		return "valkey " + v
	}
	return i["redis_version"]
}

// Number returns a number, 0 if the field is missing.
func (i Info) Number(field string) int64 {
	n, _ := strconv.ParseInt(i[field], 10, 64)
	return n
}

// TooOld reports whether the server lacks features that the scripts need. An unknown
// Version counts as new, since the server may not be Redis.
func (i Info) TooOld() bool {
	var major, minor int
	if n, _ := fmt.Sscanf(i["redis_version"], "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < 6 || major == 6 && minor < 2
}

// Persistence returns how the server stores its data, as far as INFO tells.
func (i Info) Persistence() string {
	switch {
	case i["aof_enabled"] == "1":
		return "aof"
	case i["rdb_saves"] != "" && i["rdb_saves"] != "0":
		return "rdb"
	case i["aof_enabled"] == "":
		return ""
	}
	return "none"
}
