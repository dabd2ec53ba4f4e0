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
