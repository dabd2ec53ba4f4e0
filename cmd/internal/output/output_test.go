package output

import (
	"fmt"
	"strings"
	"testing"
)

// TestRemark: sentences are broken between words.
func TestRemark(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		20: "who: one two three\n    four five\n", 9: "who: one\n    two\n    three\n    four\n    five\n", 100: "who: one two three four five\n",
	} {
		if got := broken("who: one two three four five", "    ", width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
	if got := fmt.Sprint(broken("    why: "+strings.Repeat("x", 30), "      ", 20)); got != "    why:\n      "+strings.Repeat("x", 30)+"\n" {
		t.Errorf("a long word: %q", got)
	}
}

// On a terminal an outcome has its colour, and the columns stay where they are; elsewhere there are no escapes.
func TestOutcomesArePainted(t *testing.T) {
	table := Table[[]string]{
		Columns: []string{"JOB", "OUTCOME", "WHY"}, Rows: [][]string{{"a", "failed, 3 without success", "disk"}, {"b", "succeeded", ""}},
		Cells: func(r []string) []string { return r },
	}
	t.Setenv("NO_COLOR", "")
	write := func(width int) string {
		var b strings.Builder
		if err := table.Write(&b, width, new(Sheet)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := write(0)
	painted := write(80)
	if want := "a    \x1b[31mfailed\x1b[0m, 3 without success  disk\nb    \x1b[32msucceeded\x1b[0m"; !strings.Contains(painted, want) || strings.Contains(plain, "\x1b") {
		t.Errorf("%q, want %q in it; elsewhere %q", painted, want, plain)
	}
	t.Setenv("NO_COLOR", "1")
	if got := write(80); got != plain {
		t.Errorf("without colours %q, want %q", got, plain)
	}
}
