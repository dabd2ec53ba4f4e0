package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestDocs holds the documents to the code: links within the repository
// lead somewhere, tests and lines of the model exist, and the code has the texts
// that the tables of operating.md and nodes.md quote.
func TestDocs(t *testing.T) {
	t.Parallel()
	code := sources(t)
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../docs/*/*.md")
	if err != nil || len(more) == 0 {
		t.Fatalf("no pages on the guarantees: %v", err)
	}
	for _, page := range append(append(pages, more...), "../locking/redlock/PROTOCOL.md", "../README.md", "../SECURITY.md") {
		text := read(t, page)
		checkLinks(t, page)
		for _, m := range regexp.MustCompile("`([A-Z][a-z]+[A-Z][A-Za-z]+)`").FindAllStringSubmatch(text, -1) {
			name := m[1] // of a test, or of a case of a conformance kit
			if strings.HasPrefix(name, "Test") {
				name = "func " + name + "("
			}
			if !strings.Contains(code, name) {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
		for _, model := range strings.Split(text, "\n* Model: ")[1:] {
			checkModel(t, page, model)
		}
	}
	checkIndex(t, append(pages, more...))
	checkQuotes(t, read(t, "../docs/operating.md")+read(t, "../docs/nodes.md"), code)
	checkReasons(t, read(t, "../docs/operating.md"))
	checkTroubles(t, read(t, "../docs/troubleshooting.md"), code)
}

// checkIndex wants every page in a list of docs/README.md, which is also the navigation of
// the site. Pages on results are records, not for readers.
func checkIndex(t *testing.T, pages []string) {
	t.Helper()
	index := read(t, "../docs/README.md")
	for _, page := range pages {
		name, err := filepath.Rel("../docs", page)
		if err != nil {
			t.Fatal(err)
		}
		if name != "README.md" && !strings.HasPrefix(name, "results/") && !regexp.MustCompile(`(?m)^\* \[.*\]\(`+regexp.QuoteMeta(name)+`\)`).MatchString(index) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

// checkLinks wants every link of a page to lead to a file of the repository, and to
// a heading where it names one.
func checkLinks(t *testing.T, page string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(read(t, page), -1) {
		if strings.HasPrefix(m[1], "https://") {
			continue
		}
		file := page
		if m[1] != "" {
			file = filepath.Join(filepath.Dir(page), m[1])
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: link %s: %v", page, m[1], err)
		} else if m[2] != "" && !slices.Contains(anchors(read(t, file)), m[2]) {
			t.Errorf("%s: %s has no heading #%s", page, file, m[2])
		}
	}
}

// anchors are those of a page's headings.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// checkReasons wants every sentence of a reason explained, in a row with its code.
func checkReasons(t *testing.T, page string) {
	t.Helper()
	codes := map[string]string{}
	for _, m := range regexp.MustCompile(`(Code\w+) +Code = "(\w+)"`).FindAllStringSubmatch(read(t, "../scheduler/ledger/reason.go"), -1) {
		codes[m[1]] = m[2]
	}
	found := regexp.MustCompile(`\{(Code\w+), [^,]+, "([^"]+)"`).FindAllStringSubmatch(read(t, "../scheduler/ledger/reason.go"), -1)
	for _, m := range found {
		words := slices.MaxFunc(regexp.MustCompile(`\{\w+\}|[\[\]]`).Split(m[2], -1), func(x, y string) int { return len(x) - len(y) })
		row := regexp.MustCompile("(?m)^\\| `" + codes[m[1]] + "` \\|.*" + regexp.QuoteMeta(strings.Trim(words, " :;()=")))
		if !row.MatchString(page) && words != "" {
			t.Errorf("operating.md does not explain the reason %s: %q", codes[m[1]], m[2])
		}
	}
	if len(found) < 50 {
		t.Errorf("only %d reasons were found in the scheduler's code", len(found))
	}
}

// checkTroubles wants a row for each code that a ledger can have, and only for those. The
// messages and alerts that other rows begin with have to exist, and each alert needs a row.
func checkTroubles(t *testing.T, page, code string) {
	t.Helper()
	checkQuotes(t, page, code)
	codes := ledger.Codes()
	for _, c := range codes {
		if !strings.Contains(page, "\n| `"+string(c)+"` | ") {
			t.Errorf("troubleshooting.md has no row for the reason %s", c)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(codes, ledger.Code(m[1])) {
			t.Errorf("troubleshooting.md has a row for %s, which is no reason", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(read(t, "../deploy/chart/monitoring/alerts.yaml"), -1) {
		if !strings.Contains(page, "["+m[1]+"]") {
			t.Errorf("troubleshooting.md does not list the alert %s", m[1])
		}
	}
}

// checkModel wants the quotes in the item that text begins with to be configurations of the
// model, or promises that it checks.
func checkModel(t *testing.T, page, text string) {
	t.Helper()
	known := read(t, "../dev/model/redlock/check.sh")
	text, _, _ = strings.Cut(text, "\n\n")
	text, _, _ = strings.Cut(text, "\n* ")
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^[qf] \| `+regexp.QuoteMeta(m[1])+` +\|`).MatchString(known) &&
			!strings.Contains(known, "echo "+m[1]+" ") {
			t.Errorf("%s names %q of the model, which is not in check.sh", page, m[1])
		}
	}
}

// checkQuotes wants every quote in the first cell of a row to be in the code; an ellipsis
// separates pieces.
func checkQuotes(t *testing.T, text, code string) {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(text, -1)
	if len(rows) < 50 {
		t.Fatalf("found only %d quoted rows", len(rows))
	}
	for _, row := range rows {
		for _, quote := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for piece := range strings.SplitSeq(quote[1], "…") {
				if piece = strings.Trim(piece, " ,:[]"); !strings.Contains(code, piece) {
					t.Errorf("the documents quote %q: %q is not in the code", quote[1], piece)
				}
			}
		}
	}
}

// sources is all Go text of the module but this test's.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" && filepath.Base(path) != "docs_test.go" {
			all.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadme holds the commands of the documents to the program.
func TestReadme(t *testing.T) {
	t.Parallel()
	if line := "ACL SETUSER quorate on >PASSWORD " + membership.ACLRules("quorate") + "\n"; !strings.Contains(read(t, "../docs/deploying.md"), line) {
		t.Errorf("deploying.md lacks the line\n%s", line)
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, page := range append(pages, "../README.md") {
		for _, m := range regexp.MustCompile("(?m)(?:^ *|`)(?:quorate|go run \\./cmd/quorate) ([a-z][^#`\n]*)").FindAllStringSubmatch(read(t, page), -1) {
			typed++
			checkTyped(t, page, m[1])
		}
	}
	if typed < 100 {
		t.Errorf("found only %d commands in the documents", typed)
	}
}

// checkTyped wants the command to exist, with the flags that the page gives it.
func checkTyped(t *testing.T, page, line string) {
	t.Helper()
	root := newRoot(new(cli))
	command, rest, err := root.Find(strings.Fields(line))
	if err != nil || command == root {
		t.Errorf("%s says quorate %s, which does not exist", page, line)
		return
	}
	command.InitDefaultHelpFlag()
	for _, word := range rest {
		if name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "="); strings.HasPrefix(word, "--") && command.Flag(name) == nil {
			t.Errorf("%s says quorate %s, which has no flag --%s", page, line, name)
		}
	}
}
