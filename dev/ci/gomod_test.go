package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// .ci/gomod tidies a store with the main module of its own tree, of whatever version, and leaves
// no replacement in go.mod.
func TestTidyWithThisTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	script, err := os.ReadFile("../../.ci/gomod")
	if err != nil {
		t.Fatal(err)
	}
	const bare = "module github.com/quorate/quorate/stores/some\n\ngo 1.26.0\n"
	const tidy = bare + "\nrequire github.com/quorate/quorate v0.9.9\n"
	for name, text := range map[string]string{
		"go.mod":              "module github.com/quorate/quorate\n\ngo 1.26.0\n",
		"jobs/jobs.go":        "package jobs\n",
		"stores/some/go.mod":  tidy,
		"stores/some/go.sum":  "",
		"stores/some/go.work": "go 1.26.0\n\nuse .\n\nreplace github.com/quorate/quorate => ../..\n",
		"stores/some/some.go": "package some\n\nimport _ \"github.com/quorate/quorate/jobs\"\n",
		".ci/gomod":           string(script),
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // one of them is a script
			t.Fatal(err)
		}
	}
	run := func(command string) (string, error) {
		words := strings.Fields(command)
		c := exec.CommandContext(t.Context(), words[0], words[1:]...)
		c.Dir, c.Env = root, append(os.Environ(), "GOPROXY=off")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	store := filepath.Join(root, "stores/some/go.mod")
	for _, step := range []struct {
		command, says, after string
	}{
		{"git init --quiet", "", tidy},
		{"git add .", "", tidy},
		{".ci/gomod mod tidy -diff", "", tidy},
		{"go mod edit -droprequire=github.com/quorate/quorate stores/some/go.mod", "", bare},
		{".ci/gomod mod tidy -diff", "+require github.com/quorate/quorate ", bare},
		{".ci/gomod mod tidy", "", bare + "\nrequire github.com/quorate/quorate v0.0.0-00010101000000-000000000000\n"},
	} {
		out, err := run(step.command)
		if !strings.Contains(out, step.says) || (err != nil) != (step.says != "") {
			t.Fatalf("%s: %v\n%s", step.command, err, out)
		}
		if got := strings.Join(readLines(t, store), "\n") + "\n"; got != step.after {
			t.Fatalf("after %s go.mod is\n%s", step.command, got)
		}
	}
}
