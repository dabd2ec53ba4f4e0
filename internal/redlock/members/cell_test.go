package members_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
)

// cellsOf returns the configurations of cells with these names, each with as many
// of the nodes.
func cellsOf(urls []string, change func(*members.Config), names ...string) []members.Config {
	var list []members.Config
	size := len(urls) / len(names)
	for i, name := range names {
		list = append(list, config(urls[i*size:(i+1)*size], change, func(c *members.Config) {
			c.Cell, c.Cells = name, names
		}))
	}
	return list
}

func openCells(t *testing.T, list []members.Config) []*members.Set {
	t.Helper()
	sets, err := members.OpenCells(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range sets {
			_ = s.Close()
		}
	})
	return sets
}

func TestCellsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cell  string
		cells []string
		want  string
	}{
		{"east", []string{"east"}, "name 2 to 16"},
		{"north", []string{"east", "west"}, "is not one of"},
		{"", []string{"east", "west"}, "is not one of"},
		{"East", []string{"East", "west"}, "lower-case"},
		{"a,b", []string{"a,b", "west"}, "lower-case"},
		{"east", []string{"east", "east", "west"}, "named twice"},
	} {
		_, err := members.Open(config([]string{"redis://a"}, func(cfg *members.Config) { cfg.Cell, cfg.Cells = c.cell, c.cells }))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cell %q of %v: %v, want %q", c.cell, c.cells, err, c.want)
		}
	}
}

// A client with other cells would look for a job elsewhere.
func TestAnotherLayoutIsRefused(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 6)
	for _, s := range openCells(t, cellsOf(m.URLs(), embedded(m), "east", "west")) {
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	for what, others := range map[string][]members.Config{
		"one group":     {config(m.URLs()[:3], embedded(m))},
		"another name":  cellsOf(m.URLs(), embedded(m), "east", "north"),
		"another order": cellsOf(m.URLs(), embedded(m), "west", "east"),
		"a third cell": {config(m.URLs()[:3], embedded(m), func(c *members.Config) {
			c.Cell, c.Cells = "east", []string{"east", "west", "north"}
		})},
	} {
		for _, s := range openCells(t, others[:1]) {
			refused(t, s.Join(t.Context()), "node-1:6379 node-2:6379 node-3:6379; cell east of east, west")
			if r := s.Call(t.Context(), put, []string{s.Key("x")}, "1")[0]; !errors.Is(r.Err, locking.ErrRefused) {
				t.Errorf("%s: a call was answered with %v", what, r.Err)
			}
		}
	}
	same := openCells(t, cellsOf(m.URLs(), embedded(m), "east", "west"))
	for _, st := range same[1].Inspect(t.Context()) {
		if st.Err != nil || !slices.Equal(st.Members, []string{"node-4:6379", "node-5:6379", "node-6:6379"}) {
			t.Errorf("the node says %+v", st)
		}
	}
}

// The nodes of a cell that is to be added are blank, as those of a new cluster
// are. While the others have not been changed, it must not begin.
func TestCellIsNotAddedByAReplica(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 2)
	urls := redistest.URLs(servers)
	plain := func(*members.Config) {}
	if err := open(t, config(urls[:1])).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	west := openCells(t, cellsOf(urls, plain, "east", "west"))[1]
	for what, begin := range map[string]func() error{
		"joins":    func() error { return west.Join(t.Context()) },
		"declares": func() error { return west.Init(t.Context(), false) },
	} {
		if err := begin(); err == nil || !strings.Contains(err.Error(), "cell west is not formatted before cell east") {
			t.Errorf("%s: %v", what, err)
		}
	}
	servers[0].Freeze() // it cannot be asked
	short := func(c *members.Config) { c.Timeout = 100 * time.Millisecond }
	if err := openCells(t, cellsOf(urls, short, "east", "west"))[1].Join(t.Context()); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("beside a cell that does not answer: %v", err)
	}
	servers[0].Thaw()
	if n := servers[1].Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the blank node holds %d keys", n)
	}
}

// A cell that lost its memory is taken back while the others know the layout.
func TestCellThatWentBlankComesBack(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 2)
	list := cellsOf(m.URLs(), embedded(m), "east", "west")
	sets := openCells(t, list)
	for _, s := range sets {
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.Node(1).FlushAll()
	if err := openCells(t, list)[1].Join(t.Context()); err != nil {
		t.Errorf("joining again: %v", err)
	}
	if err := sets[1].Init(t.Context(), false); err != nil { // nothing was served yet
		t.Errorf("declaring both new: %v", err)
	}
}
