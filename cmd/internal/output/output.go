// Package output prints JSON for programs, and tables that fit the terminal for people.
// It escapes control characters in all texts, such as a job's error.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
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

// Clip puts a cell on one line and shortens it to width. It escapes control characters.
func Clip(s string, width int) string {
	s = strings.Map(Visible, strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
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

// Width returns a function that tells the width of the terminal behind w: 0 without one,
// or if it cannot move its cursor.
func Width(w io.Writer) func() int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || os.Getenv("TERM") == "dumb" {
		return func() int { return 0 }
	}
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
}

// remarkWidth is the line length of remarks on wide terminals.
const remarkWidth = 98

// Remark writes a sentence about a subject, wrapped to fit the terminal.
func Remark(w io.Writer, who, text string) {
	width := remarkWidth
	if terminal := Width(w)(); terminal > 0 {
		width = min(width, terminal)
	}
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
