package ledger

import (
	"errors"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/scheduler/roster"
)

// All nodes keep a set for a day, and one node is enough to read it. A renewal reports if a
// node has lost it.
func TestJobSetsOnNodes(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3, redistest.ACL("quorate", "secret", leastRules))
	c := connect(t, redistest.Servers(servers))
	if _, err := c.JobSet(t.Context(), "c1"); !errors.Is(err, roster.ErrNoJobSet) {
		t.Fatalf("a set that nobody has kept: %v", err)
	}
	renew := func(want bool) {
		t.Helper()
		if kept, err := c.RenewSet(t.Context(), "c1"); err != nil || kept != want {
			t.Fatalf("it is kept: %t, %v; want %t", kept, err, want)
		}
	}
	renew(false)
	packed := []byte("\x1f\x8b\x00\xff|binary")
	if err := c.KeepSet(t.Context(), "c1", packed); err != nil {
		t.Fatal(err)
	}
	for i, s := range servers {
		ttl, err := s.Client().PTTL(t.Context(), "{quorate}:set:c1").Result()
		if err != nil || ttl <= 0 || ttl > listing.KeepSets {
			t.Errorf("node %d keeps it for %v, %v", i, ttl, err)
		}
	}
	renew(true)
	for _, s := range servers[:2] {
		if err := s.Client().Del(t.Context(), "{quorate}:set:c1").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.JobSet(t.Context(), "c1"); err != nil || string(got) != string(packed) {
		t.Errorf("one node has it: %q, %v", got, err)
	}
	renew(false)
}
