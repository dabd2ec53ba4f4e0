package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Table is the listing of a command: rows as a JSON array or as a table.
type Table[R any] struct {
	Columns []string
	Cells   func(R) []string
	Rows    []R
	// Empty replaces a table without rows.
	Empty string

	// Columns that give way on a narrow terminal. Cells of Below move to lines under
	// their row. Columns of Drop are left out, in that order, until the others fit.
	// Then columns of Cut are shortened.
	Below, Drop, Cut []string

	// Sparse names columns that are left out while all their cells are "-".
	Sparse []string
}

// Print writes the listing in the format of the -o flag. On a terminal a table fits the
// width; elsewhere it is complete, one line per row.
func (l Table[R]) Print(w io.Writer, format string) error {
	if format == "json" {
		return JSON(w, l.Rows)
	}
	if len(l.Rows) == 0 {
		_, err := fmt.Fprintln(w, l.Empty)
		return err
	}
	return l.Write(w, Width(w)(), new(Sheet))
}

// Stream prints rows of a continuous listing: JSON as one object per line, or a table
// whose columns grow if necessary.
func (l Table[R]) Stream(w io.Writer, format string, s *Sheet) error {
	if format != "json" {
		return l.Write(w, Width(w)(), s)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range l.Rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// A Sheet is the part of a table that was written.
type Sheet struct {
	natural []int  // the widest cell of each column
	heading []bool // columns of the last heading
}

// mostWrapped bounds the last cell of a row on a terminal that is not wider, in characters.
const mostWrapped = 120

// Write adds rows in so many terminal columns; 0: without limit. It writes a heading
// above the first row, and again if other columns are left out than before.
func (l Table[R]) Write(w io.Writer, width int, s *Sheet) error {
	lines := make([][]string, len(l.Rows))
	for i, row := range l.Rows {
		lines[i] = l.Cells(row)
		if last := len(lines[i]) - 1; width > 0 { // a terminal wraps it; a pipe gets all of it
			lines[i][last] = Clip(lines[i][last], max(mostWrapped, width))
		}
	}
	s.grow(lines)
	widths, below := l.layout(l.withHeadings(s.natural), width)
	var b strings.Builder
	if heading := seen(widths); !slices.Equal(heading, s.heading) {
		s.heading = heading
		b.WriteString(inColumns(l.Columns, widths))
	}
	for _, cells := range lines {
		b.WriteString(inColumns(cells, widths))
		for _, i := range below {
			if cells[i] != "" && cells[i] != "-" {
				b.WriteString(broken("    "+strings.ToLower(l.Columns[i])+": "+cells[i], "      ", width))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grow widens the columns for the cells, and escapes control characters.
func (s *Sheet) grow(lines [][]string) {
	if s.natural == nil {
		s.natural = make([]int, len(lines[0]))
	}
	for _, cells := range lines {
		for i, cell := range cells {
			cells[i] = Clip(cell, len(cell)+1)
			s.natural[i] = max(s.natural[i], utf8.RuneCountInString(cells[i]))
		}
	}
}

// withHeadings returns the widths of cells and headings; 0 for a column that is left out.
func (l Table[R]) withHeadings(cells []int) []int {
	widths, sparse := slices.Clone(cells), l.places(l.Sparse)
	for i, heading := range l.Columns {
		widths[i] = max(widths[i], utf8.RuneCountInString(heading))
		if slices.Contains(sparse, i) && cells[i] <= len("-") {
			widths[i] = 0
		}
	}
	return widths
}

// layout returns the width of each column, 0 if it is left out, and which columns are
// written below their row.
func (l Table[R]) layout(natural []int, width int) (widths, below []int) {
	if width == 0 || across(natural) <= width {
		return natural, nil
	}
	widths, below = slices.Clone(natural), l.places(l.Below)
	for _, i := range below {
		widths[i] = 0
	}
	return Fit(widths, l.places(l.Drop), l.places(l.Cut), width), below
}

// places returns the indexes of the named columns.
func (l Table[R]) places(names []string) []int {
	list := make([]int, len(names))
	for i, name := range names {
		list[i] = slices.Index(l.Columns, name)
	}
	return list
}

// seen tells which columns are shown.
func seen(widths []int) []bool {
	list := make([]bool, len(widths))
	for i, w := range widths {
		list[i] = w > 0
	}
	return list
}

// inColumns formats a line of a table.
func inColumns(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] > 0 {
			fmt.Fprintf(&b, "%-*s", widths[i]+Gap, Clip(cell, widths[i]))
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// Gap is the space between columns, and leastColumn the width that a cut column keeps.
const (
	Gap         = 2
	leastColumn = 6
)

// Fit returns the width of each column so that all fit a terminal; 0: left out. Columns
// of drop are left out first, in that order, until the others fit. Then the widest
// columns of cut are shortened.
func Fit(natural, drop, cut []int, width int) []int {
	w := slices.Clone(natural)
	for _, i := range drop {
		if across(w) <= width {
			return w
		}
		w[i] = 0
	}
	for across(w) > width {
		widest := -1
		for _, i := range cut {
			if w[i] > leastColumn && (widest < 0 || w[i] > w[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return w
		}
		w[widest]--
	}
	return w
}

// across is the total width of columns.
func across(widths []int) int {
	sum := -Gap
	for _, w := range widths {
		if w > 0 {
			sum += w + Gap
		}
	}
	return max(sum, 0)
}
