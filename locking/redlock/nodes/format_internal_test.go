package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
)

// Somebody else may format a node between its examination and FORMAT: that is
// the end of it if they mean the same list, and a refusal otherwise.
func TestFormatLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 3)
	set := func(urls ...string) *Set {
		c := Config{Embedded: true, Dial: m.Dial}
		for _, u := range urls {
			c.Nodes = append(c.Nodes, NodeConfig{URL: u})
		}
		s, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := set(m.URLs()...)
	for _, since := range []int{sinceNow, sinceNever} {
		if err := s.nodes[0].format(t.Context(), since); err != nil {
			t.Fatal(err)
		}
		if at := s.nodes[0].clock.vouches(); at.Unix() < 1e9 {
			t.Errorf("formatted again with %d, the node vouches from %v", since, at)
		}
	}
	err := set(m.URLs()[0]).nodes[0].format(t.Context(), sinceNow)
	if !errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), "belongs to the list") {
		t.Errorf("formatting another list's node: %v", err)
	}
}
