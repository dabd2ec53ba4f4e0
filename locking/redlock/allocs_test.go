package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

// An echoer is nodes that accept everything at once, for what a claim costs this
// process.
type echoer struct{}

func (echoer) Eval(_ context.Context, _ string, script *nodes.Script, _ []string, args []any) (any, error) {
	if script == commitScript {
		return []any{"OK", "1800000000000", "0", "1", "1"}, nil
	}
	return []any{"OK", "1800000000000", "0"}, nil
}

func (echoer) Info(context.Context, string) (string, error) { return "", nil }

// A claim in one round and its finish, at five nodes, make a bounded number of
// objects in the driver and the rounds.
func TestAllocationsOfAClaim(t *testing.T) {
	c := &cluster{cfg: nodes.Config{TTL: 30 * time.Second, Grace: 31 * time.Second, Transport: echoer{}}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c.cfg.Nodes = append(c.cfg.Nodes, nodes.NodeConfig{URL: "redis://" + name + ":6379"})
	}
	l, err := New(c.open(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	req := c.request(past(0))
	req.Direct = true
	got := testing.AllocsPerRun(200, func() { mustRelease(t, mustAcquire(t, l, req)) })
	if got > 185 {
		t.Errorf("%.0f objects for one claim, want at most 185", got)
	}
}
