package client

import (
	"context"
	"testing"
)

// A call of a batched script at five nodes makes a bounded number of objects.
func TestAllocationsOfARound(t *testing.T) {
	c := newCluster(5, func(int, context.Context, int) error { return nil })
	defer c.close(t)
	got := testing.AllocsPerRun(200, func() { c.call(t.Context()) })
	if got > 65 {
		t.Errorf("%.0f objects for one call at five nodes, want at most 65", got)
	}
}
