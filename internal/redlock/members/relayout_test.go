package members_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
)

// writes reports whether a quorum of the set takes a write.
func writes(t *testing.T, s *members.Set) bool {
	t.Helper()
	n := 0
	for _, r := range s.Call(t.Context(), put, []string{s.Key("x")}, "1") {
		if r.Err == nil {
			n++
		}
	}
	return n >= s.Quorum()
}

func initAll(t *testing.T, list []members.Config) []*members.Set {
	t.Helper()
	sets := openCells(t, list)
	for _, s := range sets {
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	return sets
}

// joinAll joins all cells anew, and returns the first error.
func joinAll(t *testing.T, list []members.Config) ([]*members.Set, error) {
	t.Helper()
	sets := openCells(t, list)
	var errs []error
	for _, s := range sets {
		errs = append(errs, s.Join(t.Context()))
	}
	return sets, errors.Join(errs...)
}

// TestLayoutIsChanged goes from one group to two cells, to three, and back, with
// the replicas of the other layout refused at each step.
func TestLayoutIsChanged(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 9)
	urls := m.URLs()
	one := []members.Config{config(urls[:3], embedded(m))}
	two, three := cellsOf(urls[:6], embedded(m), "east", "west"), cellsOf(urls, embedded(m), "east", "west", "north")
	initAll(t, one)
	for _, step := range []struct {
		what     string
		from, to []members.Config
		blank    int // first of the nodes that must be empty
	}{
		{"one group to two cells", one, two, 3},
		{"two cells to three", two, three, 6},
		{"three cells to two", three, two, 9},
		{"two cells to one group", two, one, 9},
	} {
		for i := step.blank; i < len(urls); i++ {
			m.Node(i).FlushAll()
		}
		before, err := joinAll(t, step.from)
		if err != nil {
			t.Fatalf("%s: joining before: %v", step.what, err)
		}
		if _, err := joinAll(t, step.to); err == nil {
			t.Errorf("%s: joined before the change", step.what)
		}
		dry := members.Change{From: step.from, To: step.to, DryRun: true}
		if err := dry.Run(t.Context()); err != nil {
			t.Errorf("%s: looking at it: %v", step.what, err)
		}
		for _, s := range before {
			if !writes(t, s) {
				t.Errorf("%s: cell %q takes nothing before the change", step.what, s.Cell())
			}
		}
		change := members.Change{From: step.from, To: step.to}
		for range 2 { // again is harmless
			if err := change.Run(t.Context()); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
		}
		for _, s := range before {
			if writes(t, s) {
				t.Errorf("%s: the former cell %q still takes writes", step.what, s.Cell())
			}
		}
		if _, err := joinAll(t, step.from); !errors.Is(err, locking.ErrRefused) {
			t.Errorf("%s: joining with the former layout: %v", step.what, err)
		}
		after, err := joinAll(t, step.to)
		if err != nil {
			t.Fatalf("%s: joining after: %v", step.what, err)
		}
		for _, s := range after {
			if at, ok := s.Vouching(); !ok || !at.After(time.Now()) {
				t.Errorf("%s: cell %q vouches for what the former layout may have granted (%v, %v)", step.what, s.Cell(), at, ok)
			}
			if !writes(t, s) {
				t.Errorf("%s: cell %q takes nothing", step.what, s.Cell())
			}
		}
	}
}

// No new cell is opened while an old one may still grant anything.
func TestNoCellIsOpenedBeforeAllAreSealed(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 9)
	two := cellsOf(m.URLs()[:6], embedded(m), "east", "west")
	three := cellsOf(m.URLs(), embedded(m), "east", "north", "west")
	three[1].Nodes, three[2].Nodes = three[2].Nodes, three[1].Nodes // west keeps its own
	initAll(t, two)
	for i := 3; i < 6; i++ {
		m.Node(i).SetError("LOADING west is away")
	}
	change := members.Change{From: two, To: three}
	if err := change.Run(t.Context()); !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "cell west") {
		t.Errorf("without west: %v", err)
	}
	east := openCells(t, two)[0]
	east.Learn(t.Context())
	if !writes(t, east) {
		t.Error("east was sealed though west could not be")
	}
	for i := 3; i < 6; i++ {
		m.Node(i).SetError("")
	}
	// Now west goes away in the middle.
	change.Progress = func(text string) {
		if strings.HasPrefix(text, "node-1:6379: sealed") {
			for i := 3; i < 6; i++ {
				m.Node(i).SetError("LOADING west is away")
			}
		}
	}
	if err := change.Run(t.Context()); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("without west in the middle: %v", err)
	}
	for i := 6; i < 9; i++ {
		if keys := m.Node(i).Keys(); len(keys) > 0 {
			t.Errorf("a node of the new cell holds %v", keys)
		}
	}
	for i := 3; i < 6; i++ {
		m.Node(i).SetError("")
	}
	change.Progress = nil
	if err := change.Run(t.Context()); err != nil {
		t.Fatalf("again: %v", err)
	}
	if _, err := joinAll(t, three); err != nil {
		t.Error(err)
	}
}

// A list does not tell what the other cells are: of two changes to cells that are
// called the same, the second is refused.
func TestTwoLayoutsWithOneCellInCommon(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 9)
	urls := m.URLs()
	one := []members.Config{config(urls[:3], embedded(m))}
	first := cellsOf(urls[:6], embedded(m), "east", "west")
	second := cellsOf(append(urls[:3:3], urls[6:]...), embedded(m), "east", "west")
	initAll(t, one)
	if err := (members.Change{From: one, To: first}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(t, members.Change{From: one, To: second}.Run(t.Context()), "cell east", "neither the old list nor this change")
	if keys := m.Node(6).Keys(); len(keys) > 0 {
		t.Errorf("a node of the second change holds %v", keys)
	}
}

// Where the cells stay, only the one whose list differs stops.
func TestListOfOneCellIsChanged(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 7)
	list := cellsOf(m.URLs()[:6], embedded(m), "east", "west")
	next := cellsOf(m.URLs()[:6], embedded(m), "east", "west")
	next[1].Nodes = append(next[1].Nodes[:2:2], members.NodeConfig{URL: m.URLs()[6]})
	sets := initAll(t, list)
	if err := (members.Change{From: list, To: list}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing to change") {
		t.Errorf("changing nothing: %v", err)
	}
	if err := (members.Change{From: list, To: next}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !writes(t, sets[0]) || writes(t, sets[1]) {
		t.Error("east was changed, or west was not")
	}
	if _, err := joinAll(t, next); err != nil {
		t.Error(err)
	}
}

// A cell of a changed layout whose nodes are formatted by a replica, because the
// change did not reach them or they lost their memory, waits like the others.
func TestBlankCellOfAChangedLayout(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 6)
	one := []members.Config{config(m.URLs()[:3], embedded(m))}
	two := cellsOf(m.URLs(), embedded(m), "east", "west")
	initAll(t, one)
	if err := (members.Change{From: one, To: two}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := 3; i < 6; i++ {
		m.Node(i).FlushAll()
	}
	sets := openCells(t, two)
	if err := sets[1].Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Node(3).HGet("{quorate}:node", "sealed_at"), m.Node(0).HGet("{quorate}:node", "sealed_at"); got != want || want == "" {
		t.Errorf("it was formatted with seals at %q, those of the change are at %q", got, want)
	}
	refused(t, sets[1].Init(t.Context(), false), "has served")
}
