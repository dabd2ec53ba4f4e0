package tutorial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeJob follows "A first job" of the README, until two ticks have run.
func TestReadmeJob(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(read(t, "../../README.md"), "\n## A first job\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := blocksIn(t, "the README's first job", section)
	if len(blocks) != 3 {
		t.Fatalf("found %d blocks, want a program, its configuration and the commands", len(blocks))
	}
	s := newShell(t, "GOWORK=off", "CLONE="+root)
	s.save(blocks[0])
	s.save(blocks[1])
	s.watch(blocks[2])
}

// TestReadmeEmbedding wants the code of "In your service" in an example of the package, which compiles.
func TestReadmeEmbedding(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "../../README.md"), "\n## In your service\n")
	_, code, _ := strings.Cut(section, "\n```go\n")
	code, _, whole := strings.Cut(code, "```\n")
	if !whole || !strings.Contains(read(t, "../../stores/postgres/example_test.go"), "\n"+code) {
		t.Errorf("the README shows code that is not in the example of stores/postgres:\n%s", code)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
