package client

import (
	"context"
	"crypto/tls"
	"net"
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
	opts := redis.Options{Addr: u.Addr, CredentialsProviderContext: func(context.Context) (username, password string, err error) {
		now, at, err := cfg.now(u)
		if at.username == "" && at.password == "" {
			return now.Username, now.Password, err
		}
		return at.username, at.password, err
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
