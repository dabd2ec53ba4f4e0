//go:build signin

package signin_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const pagePath = "../../docs/oauth2-proxy.md"

// A page is the document, and its blocks of code by language.
type page struct {
	text   string
	blocks map[string][]string
}

var fence = regexp.MustCompile("(?ms)^( *)```(\\w+)\n(.*?)^ *```$")

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	p := page{string(text), map[string][]string{}}
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		block := strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n")
		p.blocks[m[2]] = append(p.blocks[m[2]], strings.TrimPrefix(block, "\n"))
	}
	return p
}

// block returns the nth block of the language with other texts in place of some. It wants the page to
// have each of those.
func (p page) block(t *testing.T, language string, n int, pairs ...string) string {
	t.Helper()
	if len(p.blocks[language]) <= n {
		t.Fatalf("%s has %d blocks of %s, and the test needs number %d", pagePath, len(p.blocks[language]), language, n+1)
	}
	text := p.blocks[language][n]
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("block %d of %s in %s lacks %s, which the test replaces", n+1, language, pagePath, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
