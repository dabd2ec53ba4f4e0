package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/quorate/quorate/dev/bench/pairs"
)

var columns = []string{"what", "ours", "theirs", "ratio", "spread", "bound", ""}

func (r Result) cells() []string {
	theirs, ratio, spread := "", "", ""
	if r.Of != "" {
		theirs = r.Unit.Format(r.Theirs) + " (" + r.Of + ")"
	}
	if r.Ratio != (pairs.Ratio{}) {
		ratio = fmt.Sprintf("%.2f", r.Ratio.Of)
	}
	if r.Ratio.Low != 0 || r.Ratio.High != 0 {
		spread = fmt.Sprintf("%.2f–%.2f", r.Ratio.Low, r.Ratio.High)
	}
	return []string{r.What, r.Unit.Format(r.Ours), theirs, ratio, spread, r.bound(), string(r.Verdict())}
}

func (r Result) bound() string {
	b := r.Bound
	if !b.Given {
		return ""
	}
	sign := "≤ "
	if b.AtLeast {
		sign = "≥ "
	}
	if b.Ratio {
		return sign + strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", b.Limit), "0"), ".")
	}
	return sign + r.Unit.limit(b.Limit)
}

// limit writes a bound: a round number, without fraction.
func (u Unit) limit(v float64) string {
	if u == Commands {
		return thousands(v)
	}
	return u.Format(v)
}

// Print writes the results as a table for people at a terminal.
func Print(w io.Writer, results []Result) {
	rows := [][]string{columns}
	for _, r := range results {
		rows = append(rows, r.cells())
	}
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	for _, r := range results {
		for _, note := range r.Notes {
			fmt.Fprintf(w, "  %s: %s\n", r.What, note)
		}
	}
}

// Markdown returns the results as a table, what is missed in bold.
func Markdown(results []Result) string {
	var b strings.Builder
	b.WriteString("| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range results {
		cells := r.cells()
		if r.Verdict() == Missed {
			cells[len(cells)-1] = "**" + string(Missed) + "**"
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
