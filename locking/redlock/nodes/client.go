package nodes

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize bounds the requests that are under way at one node at the same time.
// Batched scripts need two each; of others more callers queue, for half of their
// time.
const poolSize = 32

// maxIdle is below the idle timeouts of servers and of what stands between: a
// connection that somebody else closed costs a vote.
const maxIdle = time.Minute

// newClient returns a client whose every wait ends at the deadline of the call.
// Nothing is retried: a retried claim would count its own first try as somebody
// else's.
func newClient(cfg Config, u nodeURL) *redis.Client {
	username, password := u.username, u.password
	if username == "" && password == "" {
		username, password = cfg.Username, cfg.Password
	}
	return redis.NewClient(&redis.Options{
		Addr:                  u.addr,
		Username:              username,
		Password:              password,
		Dialer:                dialer(cfg, u),
		Protocol:              2,
		DisableIdentity:       true,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           cfg.Timeout,
		ReadTimeout:           cfg.Timeout,
		WriteTimeout:          cfg.Timeout,
		// Whoever queues here for long gives up while a node could still answer:
		// a deadline that ends in the queue would look like the node's silence.
		PoolTimeout:     cfg.Timeout / 2,
		PoolSize:        poolSize,
		ConnMaxIdleTime: maxIdle,
		ReadBufferSize:  8 << 10,
		WriteBufferSize: 8 << 10,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	})
}

// dialer returns a connection also when dialling fails: see failedConn.
func dialer(cfg Config, u nodeURL) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return failedConn{err: err}, nil //nolint:nilerr // the connection carries the error
		}
		if !u.tls {
			return conn, nil
		}
		secured := tls.Client(conn, tlsConfig(cfg.TLS, u.host))
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return failedConn{err: err}, nil //nolint:nilerr // as above
		}
		return secured, nil
	}
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

// A failedConn stands for a connection that could not be made. go-redis prints
// failed dials through a global logger and goes on dialling by itself once it
// has seen enough of them; a connection that fails at its first write is just
// an error of the one call that wanted it.
type failedConn struct{ err error }

func (c failedConn) Read([]byte) (int, error)       { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)      { return 0, c.err }
func (failedConn) Close() error                     { return nil }
func (failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (failedConn) SetDeadline(time.Time) error      { return nil }
func (failedConn) SetReadDeadline(time.Time) error  { return nil }
func (failedConn) SetWriteDeadline(time.Time) error { return nil }
