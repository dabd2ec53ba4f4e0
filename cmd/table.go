package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A table is what every listing command shows: rows for programs as a JSON
// array, and the same rows as a table for people.
type table[R any] struct {
	columns []string
	cells   func(R) []string
	rows    []R
	// empty is what a person reads instead of a table without rows.
	empty string

	// Columns that give way on a terminal that is too narrow: those in below are
	// written under their row, those in drop are left out, in that order, until the
	// others fit, and then those in cut are shortened.
	below, drop, cut []string
}

// print writes the listing in the format of the command's -o flag. A table fits the
// terminal that it is written to; elsewhere it has everything, a row a line.
func (l table[R]) print(w io.Writer, format string) error {
	if format == "json" {
		return printJSON(w, l.rows)
	}
	if len(l.rows) == 0 {
		_, err := fmt.Fprintln(w, l.empty)
		return err
	}
	return l.write(w, terminalWidth(w)(), new(sheet))
}

// stream prints rows that others will follow: JSON as one object per line, a
// table whose columns grow where they must.
func (l table[R]) stream(w io.Writer, format string, s *sheet) error {
	if format != "json" {
		return l.write(w, terminalWidth(w)(), s)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range l.rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// A sheet is what was written of a table so far.
type sheet struct {
	natural []int  // how wide the cells of each column are, at most
	heading []bool // which columns the last line of names has
}

// write puts the rows below what the sheet has, in so many columns of a terminal; 0: in
// as many as they need. Names stand above the first row, and again where other
// columns are left out than before.
func (l table[R]) write(w io.Writer, width int, s *sheet) error {
	lines := make([][]string, len(l.rows))
	for i, row := range l.rows {
		lines[i] = l.cells(row)
	}
	s.grow(append(lines, l.columns))
	widths, below := l.layout(s.natural, width)
	var b strings.Builder
	if heading := seen(widths); !slices.Equal(heading, s.heading) {
		s.heading = heading
		b.WriteString(inColumns(l.columns, widths))
	}
	for _, cells := range lines {
		b.WriteString(inColumns(cells, widths))
		for _, i := range below {
			if cells[i] != "" && cells[i] != "-" {
				b.WriteString(broken("    "+strings.ToLower(l.columns[i])+": "+cells[i], "      ", width))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grow makes room for the cells, and what would do something to a terminal
// harmless.
func (s *sheet) grow(lines [][]string) {
	if s.natural == nil {
		s.natural = make([]int, len(lines[0]))
	}
	for _, cells := range lines {
		for i, cell := range cells {
			cells[i] = clip(cell, len(cell)+1)
			s.natural[i] = max(s.natural[i], utf8.RuneCountInString(cells[i]))
		}
	}
}

// layout returns how wide each column is, 0 if it does not stand in the table, and
// which stand below their row.
func (l table[R]) layout(natural []int, width int) (widths, below []int) {
	if width == 0 || across(natural) <= width {
		return natural, nil
	}
	widths, below = slices.Clone(natural), l.places(l.below)
	for _, i := range below {
		widths[i] = 0
	}
	return fit(widths, l.places(l.drop), l.places(l.cut), width), below
}

// places returns where the named columns are.
func (l table[R]) places(names []string) []int {
	list := make([]int, len(names))
	for i, name := range names {
		list[i] = slices.Index(l.columns, name)
	}
	return list
}

// seen tells which columns stand in the table.
func seen(widths []int) []bool {
	list := make([]bool, len(widths))
	for i, w := range widths {
		list[i] = w > 0
	}
	return list
}

// inColumns is a line of a table.
func inColumns(cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] > 0 {
			fmt.Fprintf(&b, "%-*s", widths[i]+gap, clip(cell, widths[i]))
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// broken is a text as lines of at most so many columns, each after the first with the
// indent before it. A word that is longer stays whole, for who copies it.
func broken(text, indent string, width int) string {
	var b strings.Builder
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + line + "\n"
}
