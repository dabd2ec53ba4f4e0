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
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## A first job\n")
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
