package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
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
