package listing

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A Hunk is a part of a unified diff: lines that differ with some around them.
type Hunk struct {
	From, FromLines, To, ToLines int    // where it begins in each text, from 1 on, and how long it is
	Job                          string // that it begins in
	Lines                        []DiffLine
}

// Head says where the hunk is, as patches have it: where it has nothing of a text, after
// which line of that.
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
	around    = 3    // lines shown before and after those that differ
	mostLines = 2000 // lines of a diff
)

// A textLine is a line of the diff of two whole texts.
type textLine struct {
	DiffLine
	job string
}

// linesOf compares what both sets have of a job.
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

// hunks takes out what is the same far around. The rest may be cut: then that is how
// many lines that differ are missing.
func hunks(lines []textLine) (list []Hunk, cut int) {
	shown := near(lines)
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
		case total >= mostLines:
			if open = false; line.Op != " " {
				cut++
			}
			continue
		case !open:
			list, open = append(list, begin(line, from, to)), true
		}
		list[len(list)-1].add(line.DiffLine)
		total++
	}
	return list, cut
}

// near tells which lines differ or stand around such.
func near(lines []textLine) []bool {
	shown := make([]bool, len(lines))
	for i, line := range lines {
		if line.Op == " " {
			continue
		}
		for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
			shown[j] = true
		}
	}
	return shown
}

// begin returns a hunk that begins with the line, which is the given one of each text.
func begin(line textLine, from, to int) Hunk {
	h := Hunk{From: from, To: to, Job: line.job}
	switch line.Op { // the other text has not come so far yet
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

// unified writes a diff as programs read it.
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
