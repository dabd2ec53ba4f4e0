package tutorial

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/mariadbtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
)

const page = "../../docs/tutorial.md"

// TestTutorial follows the tutorial with three real replicas on PostgreSQL.
func TestTutorial(t *testing.T) {
	t.Parallel()
	var address string
	if !testing.Short() {
		address = pgtest.Start(t).URL()
	}
	followTutorial(t, false, "DATABASE_URL="+address)
}

// TestTutorialOnMariaDB does so with what the boxes say.
func TestTutorialOnMariaDB(t *testing.T) {
	t.Parallel()
	var address []string
	if !testing.Short() {
		s := mariadbtest.Start(t)
		s.Query(t, "SET PASSWORD FOR root@'127.0.0.1' = PASSWORD('secret')")
		address = []string{"MYSQL_TCP_PORT=" + s.Port}
	}
	followTutorial(t, true, address...)
}

// followTutorial follows the page, with its boxes or without.
func followTutorial(t *testing.T, boxes bool, environ ...string) {
	t.Helper()
	blocks := chosen(blocksOf(t, page), boxes)
	if testing.Short() {
		blocks = withoutServers(blocks)
	}
	if len(blocks) < 10 {
		t.Fatalf("found only %d blocks", len(blocks))
	}
	s := newShell(t, append([]string{"GOWORK=off"}, environ...)...)
	for _, b := range blocks {
		s.follow(b)
		s.afterwards(b)
	}
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
		for _, module := range []string{"", "/stores/mysql"} {
			s.run("go mod edit -replace 'github.com/quorate/quorate" + module + "=" + root + module + "'\n")
		}
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
