package ci

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The base of the rolling upgrade is one commit.
func TestUpgradeHasABase(t *testing.T) {
	t.Parallel()
	lines := slices.DeleteFunc(readLines(t, "../../.ci/released"), func(line string) bool { return strings.HasPrefix(line, "#") })
	if len(lines) != 1 || !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(lines[0]) {
		t.Errorf(".ci/released names %q, want the hash of one commit", lines)
	}
}

// A base that the clone lacks is an error, and no test that did not run.
func TestUpgradeFromAnUnknownCommit(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), "../../.ci/upgrade", strings.Repeat("0", 40))
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "git fetch --unshallow") {
		t.Errorf("%v, %s", err, out)
	}
}

// readLines returns the lines of a file.
func readLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
