package nodes

import (
	"context"
	"testing"
)

// A call of a batched script at five nodes makes a bounded number of objects.
func TestAllocationsOfARound(t *testing.T) {
	s, script := slowSet(t, 5, func(int, context.Context, int) error { return nil })
	defer s.Close()
	keys := []string{"x", "y"}
	got := testing.AllocsPerRun(200, func() { s.Call(t.Context(), script, keys, "a", 1) })
	if got > 70 {
		t.Errorf("%.0f objects for one call at five nodes, want at most 70", got)
	}
}
