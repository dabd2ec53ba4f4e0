// Package comingfrom has the code of the pages in docs/coming-from, so that it compiles.
package comingfrom

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesShowWhatCompiles wants every Go block of the pages to be code of a package here.
func TestPagesShowWhatCompiles(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/coming-from/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(page), ".md"), "-", "")
		for _, block := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1) {
			found++
			if code := read(t, filepath.Join(name, name+".go")); !strings.Contains(code, "\n"+block[1]) {
				t.Errorf("%s shows code that is not in %s/%s.go:\n%s", page, name, name, block[1])
			}
		}
	}
	if found != 7 {
		t.Errorf("found %d blocks, want before and after of three pages, and jobs made at run time", found)
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
