package tutorial

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/pgtest"
)

const page = "../../docs/tutorial.md"

// TestTutorial follows the tutorial with three real replicas and a PostgreSQL.
func TestTutorial(t *testing.T) {
	t.Parallel()
	blocks := blocksOf(t, page)
	if testing.Short() {
		blocks = withoutServers(blocks)
	}
	if len(blocks) < 10 {
		t.Fatalf("found only %d blocks", len(blocks))
	}
	s := newShell(t, environment(t)...)
	for _, b := range blocks {
		s.follow(b)
		s.afterwards(b)
	}
}

func environment(t *testing.T) []string {
	t.Helper()
	environ := []string{"GOWORK=off", "DATABASE_URL="}
	if !testing.Short() {
		environ = append(environ, "DATABASE_URL="+pgtest.Start(t).URL())
	}
	return environ
}

// afterwards follows the shell into another folder, and makes a new module use this checkout.
func (s *shell) afterwards(b block) {
	s.t.Helper()
	if m := regexp.MustCompile(`(?m)^cd (\S+)$`).FindStringSubmatch(b.text); m != nil && b.file == "" {
		s.folder = filepath.Join(s.folder, m[1])
	}
	if b.file == "" && strings.Contains(b.text, "go mod init") {
		root, err := filepath.Abs("../..")
		if err != nil {
			s.t.Fatal(err)
		}
		s.run("go mod edit -replace 'github.com/quorate/quorate=" + root + "'\n")
	}
}

// withoutServers leaves the files, and the commands that need no server.
func withoutServers(blocks []block) (list []block) {
	local := regexp.MustCompile(`^(?:(?:mkdir|cd|export|go|\./bank validate)\b.*\n)+$`)
	for _, b := range blocks {
		if b.file != "" || local.MatchString(b.text) {
			list = append(list, b)
		}
	}
	return list
}
