package members

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A cell is one of several groups of nodes that divide the names between them. The
// names of the cells decide which cell a name belongs to, so membership compares them:
// clients that disagreed could claim a tick in two cells.

// MaxCells is the largest number of cells.
const MaxCells = 16

// CellPattern is a regular expression for the names of cells. They cannot contain the
// separators of a mark.
const CellPattern = `^[a-z0-9][a-z0-9-]{0,31}$`

var cellRE = regexp.MustCompile(CellPattern)

// CheckCell reports an invalid name of a cell.
func CheckCell(name string) error {
	if !cellRE.MatchString(name) {
		return fmt.Errorf("cell %q: use up to 32 lower-case letters, digits and -, starting with a letter or digit", name)
	}
	return nil
}

func (c Config) validateCells() error {
	if c.Cell == "" && len(c.Cells) == 0 {
		return nil
	}
	errs := []error{}
	for _, name := range c.Cells {
		errs = append(errs, CheckCell(name))
	}
	switch names := slices.Compact(slices.Sorted(slices.Values(c.Cells))); {
	case len(names) != len(c.Cells):
		errs = append(errs, fmt.Errorf("cells %v: one is named twice", c.Cells))
	case len(names) < 2 || len(names) > MaxCells:
		errs = append(errs, fmt.Errorf("%d cells: name 2 to %d, or none", len(names), MaxCells))
	case !slices.Contains(names, c.Cell):
		errs = append(errs, fmt.Errorf("cell %q is not one of %v", c.Cell, names))
	}
	return join(errs...)
}

// cellMark is the last entry of a list. No node's name begins with @.
func cellMark(cell string, cells []string) string {
	return "@" + cell + "/" + strings.Join(slices.Sorted(slices.Values(cells)), ",")
}

// readList splits the names of a list, as nodes store them.
func readList(names string) (members []string, cell string, cells []string) {
	members = strings.Fields(names)
	if n := len(members); n > 0 && strings.HasPrefix(members[n-1], "@") {
		mark, _, _ := strings.Cut(members[n-1][1:], planMark)
		of, all, _ := strings.Cut(mark, "/")
		return members[:n-1], of, strings.Split(all, ",")
	}
	return members, "", nil
}

// planMark follows the mark of a cell that a change of the layout has opened.
const planMark = "/plan:"

// planOf returns the plan in the names of a list, "" if there is none.
func planOf(names string) string {
	_, plan, _ := strings.Cut(names, planMark)
	return plan
}

// listText describes a list.
func listText(names string) string {
	members, cell, cells := readList(names)
	if cell == "" {
		return names
	}
	return fmt.Sprintf("%s; cell %s of %s", strings.Join(members, " "), cell, strings.Join(cells, ", "))
}

// listedIn returns the key of the configuration that holds the list.
func (s *Set) listedIn() string {
	if s.cfg.Cell == "" {
		return "redis.nodes"
	}
	return "redis.cells"
}

// Cell returns the cell's name; empty if there is only one group of nodes.
func (s *Set) Cell() string { return s.cfg.Cell }

// OpenCells returns the Sets of several cells, one per configuration, or the Set of a
// single group. The configurations may differ only in their nodes and in Cell.
func OpenCells(list []Config) ([]*Set, error) {
	var sets []*Set
	for _, cfg := range list {
		s, err := Open(cfg)
		if err != nil {
			return nil, errors.Join(err, closeAll(sets))
		}
		sets = append(sets, s)
	}
	for _, s := range sets {
		s.others = slices.DeleteFunc(slices.Clone(sets), func(o *Set) bool { return o == s })
	}
	return sets, nil
}

func closeAll(sets []*Set) error {
	var errs []error
	for _, s := range sets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// settled returns why blank nodes alone do not make a cell yet. A cell to be added
// looks like a new one while the existing cells still decide on all names. So each of
// the others must either store this layout, or be blank too.
func (s *Set) settled(ctx context.Context, may func(census) bool) error {
	var errs []error
	for _, other := range s.others {
		c := other.examine(ctx)
		err := judgeAll(c.views)
		if err == nil && !may(c) {
			ours, _ := c.counts()
			err = noQuorum(ours, other.Quorum(), failures(c.views))
		}
		s.era.rest(other.era.seals())
		if err != nil {
			errs = append(errs, fmt.Errorf("cell %s is not formatted before cell %s is known to have these cells, or to be blank as well: %w",
				s.cfg.Cell, other.cfg.Cell, err))
		}
	}
	return join(errs...)
}

// unserved returns a refusal if a node of another cell has served.
func (s *Set) unserved(ctx context.Context) error {
	var errs []error
	for _, other := range s.others {
		errs = append(errs, refuseServed(other.examine(ctx).views))
	}
	return join(errs...)
}

// membership describes the list of nodes in every request.
type membership struct {
	names string // sorted, then the mark of the cell; joined by spaces, and stored on nodes for messages
	hash  string
}

func newMembership(names []string, cell string, cells []string) membership {
	sorted := slices.Sorted(slices.Values(names))
	if cell != "" {
		sorted = append(sorted, cellMark(cell, cells))
	}
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return membership{names: strings.Join(sorted, " "), hash: hex.EncodeToString(sum[:16])}
}
