package membership_test

import (
	"errors"
	"testing"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// The name is kept by a quorum; a node that lacks it gets it at the next use. Where two services
// have named themselves at the same time, both take the same one.
func TestService(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 5)
	s := open(t, config(m.URLs(), embedded(m)))
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	named := func(name string, replace bool, want string) {
		t.Helper()
		if got, err := s.Service(t.Context(), name, replace); got != want || err != nil {
			t.Errorf("Service(%q, %v) = %q, %v, want %q", name, replace, got, err, want)
		}
	}
	named("", false, "")
	for i, name := range []string{"b", "a", "b", "a"} {
		m.Node(i).HSet("{"+s.Namespace()+"}:node", "service", name)
	}
	named("a", false, "a") // the last node had none
	m.Node(4).HDel("{"+s.Namespace()+"}:node", "service")
	named("", false, "b") // as many, and the first node has this one
	named("c", true, "c")
	named("a", false, "c")
	for i := range 3 {
		m.Stop(i)
	}
	if _, err := s.Service(t.Context(), "", false); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("two nodes of five: %v", err)
	}
}
