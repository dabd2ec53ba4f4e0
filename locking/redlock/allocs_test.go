package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
)

// An echoer accepts everything at once, to measure a claim's cost in this process.
type echoer struct{}

func (echoer) Eval(_ context.Context, _ string, script *client.Script, _ []string, args []any) (any, error) {
	if script.Name() == scripts.Commit.Name() {
		return []any{"OK", "1800000000000", "0", "1", "1"}, nil
	}
	return []any{"OK", "1800000000000", "0"}, nil
}

func (echoer) Info(context.Context, string) (string, error) { return "", nil }

// A claim in one round and its finish, at five nodes, make a bounded number of
// objects in the driver and the rounds.
func TestAllocationsOfAClaim(t *testing.T) {
	c := &cluster{cfg: membership.Config{TTL: 30 * time.Second, Grace: 31 * time.Second, Transport: echoer{}}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.cfg.Nodes = append(c.cfg.Nodes, membership.NodeConfig{URL: "redis://" + name + ":6379"})
	}
	l, err := New(c.open(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	req := c.request(past(0))
	req.Direct = true
	got := testing.AllocsPerRun(200, func() { mustRelease(t, mustAcquire(t, l, req)) })
	if got > 300 {
		t.Errorf("%.0f objects for one claim, want at most 300", got)
	}
}
