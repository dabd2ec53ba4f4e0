package listing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patch applies a unified diff to lines, and fails where it does not fit.
func patch(lines []string, diff string) ([]string, error) {
	var out []string
	at := 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "@@"):
			var from, n, to, m int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &from, &n, &to, &m); err != nil {
				return nil, err
			}
			if n > 0 {
				from--
			}
			if from < at || from > len(lines) {
				return nil, fmt.Errorf("%s: line %d is next", line, at)
			}
			out, at = append(out, lines[at:from]...), from
			if m > 0 {
				to--
			}
			if to != len(out) {
				return nil, fmt.Errorf("%s: %d lines are written", line, len(out))
			}
		case line[0] == '+':
			out = append(out, line[1:])
		case at >= len(lines) || lines[at] != line[1:]:
			return nil, fmt.Errorf("%q does not fit line %d", line, at)
		default:
			if line[0] == ' ' {
				out = append(out, line[1:])
			}
			at++
		}
	}
	return append(out, lines[at:]...), nil
}

func numbered(n int, name string) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprint(name, i)
	}
	return lines
}

// A diff turns the one text into the other, whatever they are, and keeps what it can.
func TestDiffTurnsOneIntoTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", " d", "+e", "-f"}), 0, 40)
		from, to := text.Draw(rt, "from"), text.Draw(rt, "to")
		diff := diffLines(from, to)
		var before, after []string
		kept := 0
		lines := make([]textLine, len(diff))
		for i, d := range diff {
			lines[i] = textLine{d, "job"}
			if d.Op != "+" {
				before = append(before, d.Text)
			}
			if d.Op != "-" {
				after = append(after, d.Text)
			}
			if d.Op == " " {
				kept++
			}
		}
		if !slices.Equal(before, from) || !slices.Equal(after, to) {
			rt.Fatalf("%v is no diff of %q and %q", diff, from, to)
		}
		if want := int(commonLengths(from, to)[0][0]); kept != want {
			rt.Fatalf("it keeps %d lines of %d that both have", kept, want)
		}
		list, cut := hunks(lines)
		got, err := patch(from, unified("a", "b", list))
		if err != nil || cut != 0 || !slices.Equal(got, to) {
			rt.Fatalf("%q, patched with\n%s, is %q, want %q; %v", from, unified("a", "b", list), got, to, err)
		}
	})
}

// What is too much to be compared is replaced, and what is too long is cut.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	from, to := numbered(1100, "a"), numbered(1100, "b")
	to[500] = from[500]
	diff := diffLines(from, to)
	if len(diff) != 2200 || diff[0] != (DiffLine{"-", "a0"}) || diff[1100] != (DiffLine{"+", "b0"}) {
		t.Errorf("%d lines, first %v", len(diff), diff[0])
	}
	lines := make([]textLine, len(diff))
	for i := range diff {
		lines[i] = textLine{diff[i], "job"}
	}
	if list, cut := hunks(lines); cut != 200 || len(list) != 1 || len(list[0].Lines) != maxDiffLines {
		t.Errorf("%d hunks, %d lines are left out", len(list), cut)
	}
}
