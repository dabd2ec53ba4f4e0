package listing

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A Hunk is a part of a unified diff: changed lines with some context.
type Hunk struct {
	From, FromLines, To, ToLines int    // first line (from 1) and length in each text
	Job                          string // of its first line
	Lines                        []DiffLine
}

// Head is the hunk's header. In a text where the hunk is empty, it gives the line before.
func (h Hunk) Head() string {
	if h.FromLines == 0 {
		h.From--
	}
	if h.ToLines == 0 {
		h.To--
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@ %s", h.From, h.FromLines, h.To, h.ToLines, h.Job)
}

// Bounds of a diff.
const (
	contextLines = 3    // lines of context
	maxDiffLines = 2000 // lines of a diff
)

// A textLine is a line of the diff of two whole texts.
type textLine struct {
	DiffLine
	job string
}

// linesOf compares one job in both sets.
func linesOf(x, y scheduler.JobText, had, has bool) []textLine {
	var before, after []string
	job := plain(x.Name)
	if had {
		before = jobLines(x)
	}
	if has {
		after, job = jobLines(y), plain(y.Name)
	}
	diff := diffLines(before, after)
	lines := make([]textLine, len(diff))
	for i, d := range diff {
		lines[i] = textLine{d, job}
	}
	return lines
}

// hunks drops the lines far from a change. Cut counts the changed lines beyond maxDiffLines.
func hunks(lines []textLine) (list []Hunk, cut int) {
	shown := shownLines(lines)
	from, to, total, open := 0, 0, 0, false
	for i, line := range lines {
		if line.Op != "+" {
			from++
		}
		if line.Op != "-" {
			to++
		}
		switch {
		case !shown[i]:
			open = false
			continue
		case total >= maxDiffLines:
			if open = false; line.Op != " " {
				cut++
			}
			continue
		case !open:
			list, open = append(list, newHunk(line, from, to)), true
		}
		list[len(list)-1].add(line.DiffLine)
		total++
	}
	return list, cut
}

// shownLines tells which lines are changed or context.
func shownLines(lines []textLine) []bool {
	shown := make([]bool, len(lines))
	for i, line := range lines {
		if line.Op == " " {
			continue
		}
		for j := max(0, i-contextLines); j <= min(len(lines)-1, i+contextLines); j++ {
			shown[j] = true
		}
	}
	return shown
}

// newHunk returns an empty hunk that begins at the line.
func newHunk(line textLine, from, to int) Hunk {
	h := Hunk{From: from, To: to, Job: line.job}
	switch line.Op { // the other text has not reached this line
	case "+":
		h.From++
	case "-":
		h.To++
	}
	return h
}

func (h *Hunk) add(line DiffLine) {
	h.Lines = append(h.Lines, line)
	if line.Op != "+" {
		h.FromLines++
	}
	if line.Op != "-" {
		h.ToLines++
	}
}

// unified writes hunks as a patch.
func unified(from, to string, list []Hunk) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	for _, h := range list {
		b.WriteString(h.Head() + "\n")
		for _, line := range h.Lines {
			b.WriteString(line.Op + line.Text + "\n")
		}
	}
	return b.String()
}
