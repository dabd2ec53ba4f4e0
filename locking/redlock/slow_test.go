package redlock

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// Two nodes of five that take almost a node timeout do not cost a lease: the timings
// leave room for an extension that waits for them twice, first for the claim that they
// lack, then for the extension. These are the tightest that configurations may have.
func TestLeaseOutlivesSlowNodes(t *testing.T) {
	t.Parallel()
	const (
		ttl, every = 4 * time.Second, 4 * time.Second / 3
		timeout    = 700 * time.Millisecond
		margin     = 1220 * time.Millisecond // less than ttl - drift - every - 2 timeouts
	)
	for name := range 5 { // the order of asking begins at another node
		t.Run(fmt.Sprint(name), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, 5)
				var delay atomic.Int64
				c := newCluster(t, minis.URLs(), func(cfg *membership.Config) {
					cfg.Dial, cfg.Embedded, cfg.TTL, cfg.Grace, cfg.Timeout = minis.Dial, true, ttl, 5*time.Second, timeout
				})
				c.cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := minis.Dial(ctx, network, addr)
					if strings.HasPrefix(addr, "node-1:") || strings.HasPrefix(addr, "node-2:") {
						return &lateConn{Conn: conn, delay: &delay}, err
					}
					return conn, err
				}
				time.Sleep(time.Hour)
				l, req := c.locker(t), c.request(past(0))
				mustRelease(t, mustAcquire(t, l, c.request(time.Time{}))) // connected
				delay.Store(int64(timeout - 50*time.Millisecond))
				req.Name, req.Direct = fmt.Sprint("job", name), true
				began := time.Now()
				lease := mustAcquire(t, l, req)
				k := locking.Keep(t.Context(), lease, locking.KeepConfig{Every: every, Margin: margin, TTL: ttl})
				defer k.Stop()
				select {
				case <-k.Context().Done():
					t.Errorf("the lease was lost %v after the claim began: %v", time.Since(began), context.Cause(k.Context()))
				case <-time.After(20 * time.Second):
				}
			})
		})
	}
}

// A lateConn delivers scripts after a delay, or gives up at the caller's deadline.
type lateConn struct {
	net.Conn
	delay *atomic.Int64
	ends  atomic.Int64 // Unix nanoseconds
}

func (c *lateConn) SetWriteDeadline(t time.Time) error {
	c.ends.Store(t.UnixNano())
	return c.Conn.SetWriteDeadline(t)
}

func (c *lateConn) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("evalsha")) {
		left := time.Duration(c.ends.Load() - time.Now().UnixNano())
		time.Sleep(min(time.Duration(c.delay.Load()), max(left, 0)))
	}
	return c.Conn.Write(b)
}
