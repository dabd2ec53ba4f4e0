package client

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A caller that queued for a connection in virtual time would leave its timer to the
// tests after it, which then crash.
func TestNobodyQueuesInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			t.Cleanup(func() { _ = far.Close() })
			return near, nil
		}
		l := NewLink("a", URL{Addr: "127.0.0.1:1"}, Config{Dial: silent, Timeout: time.Second})
		defer l.Close()
		var callers sync.WaitGroup
		for range 10 * poolSize {
			callers.Go(func() { _, _ = l.transport.Info(t.Context(), "") })
		}
		callers.Wait()
		if s := l.transport.(*client).server.(alone).PoolStats(); s.Misses != 10*poolSize || s.WaitCount != 0 {
			t.Fatalf("%d connections made for %d callers, of whom %d queued; want one each, and no queue", s.Misses, 10*poolSize, s.WaitCount)
		}
	})
}
