package replica

import (
	"errors"
	"strings"
	"testing"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/listing"
)

// A reason that the nodes cannot keep is the caller's mistake, found before any node
// is asked.
func TestReleaseRefusesReasons(t *testing.T) {
	t.Parallel()
	c := &Cluster{Sets: []*nodes.Set{openCluster(t, Source{Path: write(t, "redis: {nodes: [redis://127.0.0.1:1]}\n")})}}
	defer func() { _ = c.Close() }()
	for _, reason := range []string{"", "x", " \t ", strings.Repeat("x", 501), strings.Repeat("é", 300)} {
		_, err := c.Control().Evict(t.Context(), "job", 0, reason)
		if _, ok := errors.AsType[*listing.InvalidError](err); !ok {
			t.Errorf("a reason of %d bytes: %v", len(reason), err)
		}
	}
}
