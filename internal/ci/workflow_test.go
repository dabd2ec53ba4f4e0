package ci

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The workflow runs .ci/run and installs nothing on its own, in a container that has
// root, apt-get and the Go of go.mod.
func TestWorkflowRunsWhatCIRuns(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Container string
			Steps     []struct{ Uses, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	if len(workflow.Jobs) != 1 {
		t.Errorf("%d jobs, want one", len(workflow.Jobs))
	}
	for name, job := range workflow.Jobs {
		var runs []string
		for _, step := range job.Steps {
			if step.Run != "" && !strings.HasPrefix(step.Run, "git config ") {
				runs = append(runs, step.Run)
			}
		}
		if !slices.Equal(runs, []string{"bash .ci/run"}) {
			t.Errorf("job %s runs %q, want what CI runs: bash .ci/run", name, runs)
		}
		if want := "golang:" + goVersion(t) + "-bookworm"; job.Container != want {
			t.Errorf("job %s runs in %q, want %q", name, job.Container, want)
		}
	}
}

// goVersion is the release of Go that go.mod asks for, as 1.26.
func goVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.Join(strings.Split(strings.TrimSpace(version), ".")[:2], ".")
		}
	}
	t.Fatal("go.mod does not say which Go it needs")
	return ""
}
