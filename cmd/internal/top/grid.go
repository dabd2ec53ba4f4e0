package top

import (
	"strings"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/output"
)

// A style is the look of a span on a terminal with colours.
type style byte

const (
	plain style = iota
	bold
	faint
	good
	warn
	bad
	chosen // the selected row
)

// code is the escape code of a style.
func (s style) code() string {
	return [...]string{plain: "", bold: "\x1b[1m", faint: "\x1b[2m", good: "\x1b[32m", warn: "\x1b[33m", bad: "\x1b[1;31m", chosen: "\x1b[7m"}[s]
}

// A span is a piece of a line in one style.
type span struct {
	text  string
	style style
}

// A textLine is one line of the terminal.
type textLine []span

// render writes the line in at most width columns.
func (l textLine) render(width int, color bool) string {
	var b strings.Builder
	for i, s := range l {
		text := strings.Map(output.Visible, s.text)
		if n := utf8.RuneCountInString(text); n > width || n == width && !l[i+1:].empty() {
			text = string([]rune(text)[:max(width-1, 0)]) + "…"
		}
		width -= utf8.RuneCountInString(text)
		if color && s.style != plain && text != "" {
			text = s.style.code() + text + "\x1b[0m"
		}
		if b.WriteString(text); width <= 0 {
			break
		}
	}
	if color {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

func (l textLine) empty() bool {
	for _, s := range l {
		if strings.TrimSpace(s.text) != "" {
			return false
		}
	}
	return true
}

// A row is a line of a grid, and what it is about.
type row struct {
	id    rowID
	cells textLine
}

// A grid is rows of cells in columns.
type grid struct {
	rows []row
	// drop and cut are columns that give way if there is no room, see output.Fit.
	drop, cut []int
	// most bounds columns on a terminal.
	most map[int]int
}

// lines lays n rows from the first on, at least one, out in width columns.
func (g grid) lines(first, n, width int) []textLine {
	rows := g.rows[first : first+n]
	natural := make([]int, len(rows[0].cells))
	for _, r := range rows {
		for i, cell := range r.cells {
			natural[i] = max(natural[i], utf8.RuneCountInString(cell.text))
		}
	}
	for i, most := range g.most {
		if width < unbounded {
			natural[i] = min(natural[i], most)
		}
	}
	widths := output.Fit(natural, g.drop, g.cut, width)
	lines := make([]textLine, n)
	for i, r := range rows {
		lines[i] = aligned(r.cells, widths)
	}
	return lines
}

// aligned puts cells into columns and leaves out those of width 0.
func aligned(row textLine, widths []int) textLine {
	var l textLine
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		text := output.Clip(cell.text, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+output.Gap)
		l = append(l, span{text, cell.style}, span{pad, plain})
	}
	for len(l) > 0 && l[len(l)-1:].empty() {
		l = l[:len(l)-1]
	}
	return l
}

// choose marks the line of the selected row: without colours by a triangle between its first
// two columns.
func (l textLine) choose(width int) textLine {
	line := textLine{}
	for i, s := range l {
		if i == 1 {
			s.text = "▸" + strings.TrimPrefix(s.text, " ")
		}
		line = append(line, span{s.text, chosen})
		width -= utf8.RuneCountInString(s.text)
	}
	return append(line, span{strings.Repeat(" ", max(0, width)), chosen})
}

// wrapped breaks a text into lines of at most width columns, between words if possible.
func wrapped(text string, width int) (lines []string) {
	width = max(width, 1)
	line := ""
	for word := range strings.FieldsSeq(text) {
		rest := []rune(word)
		if used := utf8.RuneCountInString(line); line != "" && used+1+len(rest) > width {
			lines, line = append(lines, line), ""
		} else if line != "" {
			line += " "
		}
		for len(rest) > width {
			lines, rest = append(lines, string(rest[:width])), rest[width:]
		}
		line += string(rest)
	}
	return append(lines, line)
}

// paragraph is a text in one style, in as many lines as it needs.
func paragraph(text string, width int, look style) (lines []textLine) {
	for _, line := range wrapped(text, width) {
		lines = append(lines, textLine{{line, look}})
	}
	return lines
}
