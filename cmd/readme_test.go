package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

// TestReadme holds what the README tells people to type to what is true.
func TestReadme(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	if line := "ACL SETUSER quorate on >PASSWORD " + nodes.ACLRules("quorate") + "\n"; !strings.Contains(readme, line) {
		t.Errorf("the README lacks the line\n%s", line)
	}
	known := map[string]bool{}
	for _, c := range (App{}).root().Commands() {
		known[c.Name()] = true
	}
	typed := regexp.MustCompile(`(?m)^ *(?:quorate|go run \./cmd/quorate) ([a-z]+)`).FindAllStringSubmatch(readme, -1)
	if len(typed) < 10 {
		t.Fatalf("found only %d commands in the README", len(typed))
	}
	for _, m := range typed {
		if !known[m[1]] {
			t.Errorf("the README says quorate %s, which does not exist", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readme, -1) {
		if strings.HasPrefix(m[1], "http") {
			continue
		}
		if _, err := os.Stat("../" + m[1]); err != nil {
			t.Errorf("the README links to %s: %v", m[1], err)
		}
	}
}
