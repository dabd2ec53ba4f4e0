package ci

import (
	"os/exec"
	"strings"
	"testing"
)

// A release is checked before anything is published.
func TestReleaseChecksFirst(t *testing.T) {
	t.Parallel()
	all := readWorkflow(t, "release.yml").Jobs["release"].commands()
	before, _, published := strings.Cut(all, "make release NOTES=")
	if !published || !strings.Contains(before, "make release-check image-check") || !strings.Contains(before, ".ci/notes ") {
		t.Errorf("it publishes before it checks: %s", all)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	notes := func(version string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "../../.ci/notes", version).CombinedOutput()
		return string(out), err
	}
	out, err := notes("0.1.0")
	if err != nil || !strings.Contains(out, "### Added") || strings.Contains(out, "\n## ") {
		t.Errorf("the notes of 0.1.0: %v, %.100s", err, out)
	}
	if out, err := notes("0.1"); err == nil || !strings.Contains(out, "docs/releasing.md") {
		t.Errorf("the notes of a version that nobody cut: %v, %.100s", err, out)
	}
}
