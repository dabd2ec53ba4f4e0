package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocs holds docs/ and PROTOCOL.md to the code: links within the repository
// lead somewhere, tests and lines of the model exist, and what the tables of
// operating.md quote is what the code says.
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
	for _, page := range append(append(pages, more...), "../locking/redlock/PROTOCOL.md") {
		text := read(t, page)
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link %s: %v", page, m[1], err)
			}
		}
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
	checkQuotes(t, read(t, "../docs/operating.md"), code)
	checkReasons(t, read(t, "../docs/operating.md"))
}

// checkReasons wants every sentence of a reason explained, in a row with its code.
func checkReasons(t *testing.T, page string) {
	t.Helper()
	codes := map[string]string{}
	for _, m := range regexp.MustCompile(`(Code\w+) +Code = "(\w+)"`).FindAllStringSubmatch(read(t, "../scheduler/reason.go"), -1) {
		codes[m[1]] = m[2]
	}
	found := regexp.MustCompile(`\{(Code\w+), [^,]+, "([^"]+)"`).FindAllStringSubmatch(read(t, "../scheduler/reason_words.go"), -1)
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

// checkModel wants what is quoted in the item that text begins with to be a
// configuration of the model, or a promise that it checks.
func checkModel(t *testing.T, page, text string) {
	t.Helper()
	known := read(t, "../locking/redlock/model/check.sh")
	text, _, _ = strings.Cut(text, "\n\n")
	text, _, _ = strings.Cut(text, "\n* ")
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^[qf] \| `+regexp.QuoteMeta(m[1])+` +\|`).MatchString(known) &&
			!strings.Contains(known, "echo "+m[1]+" ") {
			t.Errorf("%s names %q of the model, which is not in check.sh", page, m[1])
		}
	}
}

// checkQuotes wants every piece of what stands quoted in the first cell of a row
// to be in the code; pieces are set apart by an ellipsis.
func checkQuotes(t *testing.T, text, code string) {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(text, -1)
	if len(rows) < 50 {
		t.Fatalf("found only %d quoted rows in operating.md", len(rows))
	}
	for _, row := range rows {
		for _, quote := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for piece := range strings.SplitSeq(quote[1], "…") {
				if piece = strings.Trim(piece, " ,:[]"); !strings.Contains(code, piece) {
					t.Errorf("operating.md quotes %q: %q is not in the code", quote[1], piece)
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
