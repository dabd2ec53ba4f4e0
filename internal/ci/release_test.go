package ci

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The workflow of a release runs nothing that can change unseen, and checks all that can
// be checked before it publishes.
func TestReleaseWorkflow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "uses:") && !regexp.MustCompile(`uses: [a-z/-]+@[0-9a-f]{40} # v[0-9.]+\n$`).MatchString(line) {
			t.Errorf("not pinned by its hash, with the version behind it: %s", line)
		}
	}
	var workflow struct {
		Jobs map[string]struct {
			Container string
			Steps     []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	job := workflow.Jobs["release"]
	if want := "golang:" + goVersion(t) + "-bookworm"; job.Container != want {
		t.Errorf("it runs in %q, want %q", job.Container, want)
	}
	var runs []string
	for _, step := range job.Steps {
		runs = append(runs, step.Run)
	}
	all := strings.Join(runs, "\n")
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
