package replica

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
)

// traffic counts what goes to the nodes and comes from them.
type traffic struct{ calls, read atomic.Int64 }

func (c *traffic) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: conn, traffic: c}, nil
}

// A counted connection counts requests and the bytes of the replies.
type counted struct {
	net.Conn
	traffic *traffic
}

// Write counts the beginnings of requests: what is too long for the client's buffer
// comes in pieces.
func (c *counted) Write(b []byte) (int, error) {
	if len(b) > 0 && b[0] == '*' {
		c.traffic.calls.Add(1)
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.read.Add(int64(n))
	return n, err
}

func redisZ(tick time.Time, r scripts.Record) redis.Z {
	return redis.Z{Score: float64(tick.UnixMilli()), Member: r.Encode()}
}
