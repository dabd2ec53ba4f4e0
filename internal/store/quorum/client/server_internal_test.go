package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// The client asks another Sentinel than a silent one only if its dial has not ended by then.
func TestDialOutlivesItsCall(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dial := failedDials{time.Minute}.DialHook(func(ctx context.Context, _, _ string) (net.Conn, error) {
		if end, ok := ctx.Deadline(); ctx.Err() != nil || !ok || time.Until(end) <= 2*time.Minute {
			t.Errorf("the dial has ended (%v), or ends at %v", ctx.Err(), end)
		}
		return nil, errors.New("no Sentinel names the master")
	})
	if conn, err := dial(ended, "tcp", ""); err != nil || conn == nil {
		t.Errorf("got %v, %v; want a connection that fails", conn, err)
	}
}

// A client can be closed while it asks the Sentinels for the master: it still dials then.
func TestCloseDuringTheSearchForTheMaster(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplicas(t, master, 1)
	sentinels := redistest.StartSentinels(t, master.Addr(), 1)
	u := URL{master: redistest.MasterName}
	for _, s := range sentinels {
		u.seeds = append(u.seeds, s.Addr())
	}
	searching, closing := make(chan struct{}), make(chan struct{})
	var once sync.Once
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if slices.Contains(u.seeds, addr) {
			once.Do(func() { close(searching) })
			<-closing
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	l := NewLink("a", u, Config{Dial: dial, Timeout: 5 * time.Second})
	go func() { _, _ = l.transport.Info(t.Context(), "") }()
	<-searching
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	<-time.After(100 * time.Millisecond) // Close waits for the search by now
	close(closing)
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close = %v", err)
		}
	case <-time.After(30 * time.Second): // longer than a dial may take
		t.Error("Close waits for a search that waits for Close")
	}
}
