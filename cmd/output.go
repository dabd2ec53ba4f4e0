package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// printJSON writes rows as an indented array, [] when there are none.
func printJSON[R any](w io.Writer, rows []R) error {
	if rows == nil {
		rows = []R{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rows)
}

// outputFlag adds -o to a listing.
func outputFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "output", "o", "table", "`format`: table, which fits the terminal, or json, which has all")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return usageError{fmt.Errorf("-o %s: write -o table or -o json", *format)}
		}
		return nil
	}
	completeList(c, "output", []string{"table", "json"})
}

// dash shows a nil as "-" in a table.
func dash[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// clip shortens a cell so that a table fits a terminal, on one line. What would
// do something to the terminal instead of being seen is not passed on.
func clip(s string, width int) string {
	s = strings.Map(visible, strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

// visible is the character, or what stands for one that cannot be seen.
func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// visibleInLines is visible for a text of several lines.
func visibleInLines(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	return visible(r)
}
