// Package output prints JSON for programs, and tables that fit the terminal for people.
// It escapes control characters in all texts, such as a job's error.
package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// JSON writes rows as an indented array, [] when there are none.
func JSON[R any](w io.Writer, rows []R) error {
	if rows == nil {
		rows = []R{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}

// Dash shows a nil as "-" in a table.
func Dash[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// Texts returns the values of an enumeration as texts.
func Texts[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// Line puts a text on one line. It escapes control characters.
func Line(text string) string { return strings.Map(Visible, strings.Join(strings.Fields(text), " ")) }

// Clip is Line, shortened to width.
func Clip(text string, width int) string {
	line := Line(text)
	if r := []rune(line); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return line
}

// Visible returns the character, or a visible replacement.
func Visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// VisibleInLines is Visible for a text of several lines.
func VisibleInLines(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	return Visible(r)
}

// Width is the width of the terminal behind w: 0 without one, or if it cannot move its
// cursor.
func Width(w io.Writer) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// remarkWidth is the line length of remarks on wide terminals.
const remarkWidth = 98

// Remark writes a sentence about a subject, wrapped to fit the terminal.
func Remark(w io.Writer, who, text string) {
	width := min(remarkWidth, cmp.Or(Width(w), remarkWidth))
	fmt.Fprint(w, broken(who+": "+text, "    ", width))
}

// broken wraps a text at width columns and indents each line after the first. A longer
// word stays whole, so it can be copied.
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
	return l.Write(w, Width(w), new(Sheet))
}

// Stream prints rows of a continuous listing: JSON as one object per line, or a table
// whose columns grow if necessary.
func (l Table[R]) Stream(w io.Writer, format string, s *Sheet) error {
	if format != "json" {
		return l.Write(w, Width(w), s)
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
	natural []int // the widest cell of each column
	heading []int // widths of the last heading; 0: the column was left out
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
	painted := -1
	if width > 0 && os.Getenv("NO_COLOR") == "" {
		painted = slices.Index(l.Columns, "OUTCOME")
	}
	widths, below := l.layout(l.withHeadings(s.natural), width)
	var b strings.Builder
	if !slices.EqualFunc(widths, s.heading, func(a, b int) bool { return (a > 0) == (b > 0) }) {
		s.heading = widths
		b.WriteString(inColumns(l.Columns, widths, -1))
	}
	for _, cells := range lines {
		b.WriteString(inColumns(cells, widths, painted))
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
			cells[i] = Line(cell)
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

// colours are those of levels, as terminals name them.
var colours = map[view.Level]string{view.Calm: "2", view.Good: "32", view.Busy: "34", view.Warn: "33", view.Bad: "31"}

// Paint gives a text the colour of an outcome.
func Paint(text string, o ledger.Outcome) string {
	return "\x1b[" + colours[view.MarkOf(o).Level] + "m" + text + "\x1b[0m"
}

// inColumns formats a line of a table. The outcome with which the painted cell begins has its colour; negative: none.
func inColumns(cells []string, widths []int, painted int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		text := Clip(cell, widths[i])
		space := strings.Repeat(" ", widths[i]+Gap-utf8.RuneCountInString(text))
		if i == painted && text != "" {
			outcome, _, _ := strings.Cut(text, ",")
			text = Paint(outcome, ledger.Outcome(outcome)) + text[len(outcome):]
		}
		b.WriteString(text + space)
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
	for len(cut) > 0 && across(w) > width {
		widest := slices.MaxFunc(cut, func(i, j int) int { return cmp.Compare(w[i], w[j]) })
		if w[widest] <= leastColumn {
			break
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

// Took is how long a run has taken so far, rounded.
func Took(row view.Run, now time.Time) string {
	d, known := row.Took(now)
	if !known {
		return "-"
	}
	return Short(d)
}

// Short writes a duration with about three digits.
func Short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.Round(time.Second).String())
}

// Why explains an outcome in one cell: what is unusual about the run, then the reason or
// the error. It is the last cell, so a terminal may wrap it; there, Table cuts it.
func Why(row view.Run) string {
	unusual, why := Unusual(row), view.Why(view.Text(row.Reason), view.Text(row.Error))
	if unusual == "" || why == "" {
		return unusual + why
	}
	return unusual + ": " + why
}

// Unusual says what triggered a run other than its schedule, counts attempts and calls
// above one, and names the replica of an interrupted one. The reason of a tick that was not caught up already says it.
func Unusual(row view.Run) string {
	var all []string
	if t := row.Trigger; t != nil && *t != ledger.BySchedule && (*t != ledger.ByCatchUp || row.Token != nil) {
		all = append(all, string(*t))
	}
	if row.Attempt != nil && *row.Attempt > 1 {
		all = append(all, fmt.Sprintf("attempt %d", *row.Attempt))
	}
	if row.InterruptedOn != nil {
		all = append(all, "interrupted on "+*row.InterruptedOn)
	}
	if row.Calls != nil && *row.Calls > 1 {
		all = append(all, fmt.Sprintf("%d calls", *row.Calls))
	}
	return strings.Join(all, ", ")
}

// Since is the time from then to now, "-" if then is unknown.
func Since(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return Rough(now.Sub(then))
}

// Rough writes a duration in one or two units.
func Rough(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60), "00s")
	case d < 48*time.Hour:
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60), "00m")
	}
	return strings.TrimSuffix(fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24), "00h")
}

// Ago is how long a time has passed, "-" if it is unknown.
func Ago(at *string, now time.Time) string {
	if at == nil {
		return "-"
	}
	return Since(view.Time(at), now) + " ago"
}

// Millis writes milliseconds, "-" if unknown.
func Millis(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fms", *v)
}

// NodeNotes is the node's error and warnings.
func NodeNotes(r view.Node) string {
	var notes []string
	if r.Error != nil {
		notes = append(notes, strings.TrimPrefix(*r.Error, r.Node+": "))
	}
	if r.Why != nil {
		notes = append(notes, *r.Why)
	}
	return strings.Join(append(notes, r.Warnings...), "; ")
}
