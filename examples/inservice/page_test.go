package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page shows what is tried here: each of its blocks in Go is code of this program.
func TestPageShowsThisProgram(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			all = append(all, read(t, file))
		}
	}
	code := strings.Join(all, "")
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, "../../docs/in-your-service.md"), -1)
	if len(blocks) < 5 {
		t.Errorf("found only %d blocks", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(code, "\n"+block[1]) {
			t.Errorf("the page shows code that is not here:\n%s", block[1])
		}
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
