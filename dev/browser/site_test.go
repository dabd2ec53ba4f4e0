//go:build site

package browser_test

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What make site builds, the path that it is published under, and where its links to files
// of the repository lead.
const (
	siteDir    = "../../bin/site"
	siteBase   = "/quorate/"
	repository = "https://github.com/quorate/quorate/"
)

// TestSite is a visit of every page of the documentation's site.
func TestSite(t *testing.T) {
	pages := sitePages(t)
	for _, page := range pages {
		checkSiteLinks(t, page)
	}
	axe, err := os.ReadFile("../../docs/.vitepress/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	files := http.StripPrefix(siteBase, http.FileServer(http.Dir(siteDir)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What the page asks of other hosts is noticed.
		w.Header().Set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'; img-src 'self' data:")
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := newTab(t, startBrowser(t), server.URL+siteBase)
	b.findsMissedTick()
	for _, page := range pages {
		if b.open(page) != http.StatusOK {
			t.Errorf("%s is not served", page)
		}
		b.wait("its diagrams are drawn", `!document.querySelector("pre.diagram")`)
		eval[bool](b, string(axe)+"; true")
		for _, width := range []int64{wide, narrow} {
			for _, colours := range []string{"light", "dark"} {
				b.accessible(page, width, colours)
			}
		}
	}
}

// findsMissedTick types into the search.
func (b *tab) findsMissedTick() {
	b.t.Helper()
	b.open("")
	do(b, chromedp.Click(".VPNavBarSearch button"), chromedp.SendKeys("#localsearch-input", "missed tick"))
	const results = `.VPLocalSearchBox a.result`
	b.wait("results", `document.querySelector("`+results+`")`)
	if found := b.links(results); !slices.Contains(found, "faq.html#how-do-i-see-a-missed-tick") {
		b.t.Errorf("the search for a missed tick finds %q", found)
	}
}

// accessible wants axe to find nothing, so wide and in these colours.
func (b *tab) accessible(page string, width int64, colours string) {
	b.t.Helper()
	b.size(width, tall)
	b.likes(colours)
	b.wait("colours", `document.documentElement.classList.contains("dark") === `+map[string]string{"dark": "true", "light": "false"}[colours])
	wrong := await[[]string](b, `axe.run({resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 150) + " " + n.failureSummary).join("; ")))`)
	if eval[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		wrong = append(wrong, "scrolls sideways")
	}
	for _, one := range append(wrong, b.noticed()...) {
		b.t.Errorf("%s (%s, %d pixels): %s", page, colours, width, one)
	}
}

// sitePages are the paths of all pages: one for each page of docs.
func sitePages(t *testing.T) []string {
	t.Helper()
	var pages []string
	err := fs.WalkDir(os.DirFS(siteDir), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".html") && name != "404.html" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%v; run make site", err)
	}
	err = fs.WalkDir(os.DirFS("../../docs"), ".", func(name string, d fs.DirEntry, err error) error {
		if d.IsDir() && (name == ".vitepress" || name == "results") {
			return fs.SkipDir
		}
		page := strings.Replace(strings.TrimSuffix(name, ".md")+".html", "README.html", "index.html", 1)
		if strings.HasSuffix(name, ".md") && !slices.Contains(pages, page) {
			t.Errorf("docs/%s has no page on the site", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	siteLink = regexp.MustCompile(`<(?:a|img|link|script)[^>]* (?:href|src)="([^"]*)"`)
	siteID   = regexp.MustCompile(` id="([^"]*)"`)
)

// checkSiteLinks follows every link of a page. It must lead to a page or a file of the site,
// and to an anchor that is there if it names one. A link to GitHub must lead to a file of the
// repository.
func checkSiteLinks(t *testing.T, page string) {
	t.Helper()
	links := siteLink.FindAllStringSubmatch(siteFile(t, page), -1)
	if len(links) < 40 { // the navigation alone has as many
		t.Errorf("%s has only %d links", page, len(links))
	}
	for _, m := range links {
		link, anchor, _ := strings.Cut(html.UnescapeString(m[1]), "#")
		file := page
		if below, is := strings.CutPrefix(link, repository); is {
			if _, in, has := strings.Cut(below, "/main/"); has {
				if _, err := os.Stat("../../" + in); err != nil {
					t.Errorf("%s: link %s: %v", page, link, err)
				}
			}
			continue
		} else if below, is := strings.CutPrefix(link, siteBase); is {
			file = below
		} else if strings.Contains(link, "://") || strings.HasPrefix(link, "data:") {
			continue
		} else if link != "" {
			file = path.Join(path.Dir(page), link)
		}
		if file == "" || strings.HasSuffix(file, "/") {
			file += "index.html"
		}
		if _, err := os.Stat(filepath.Join(siteDir, file)); err != nil {
			t.Errorf("%s: link %s: %v", page, m[1], err)
		} else if anchor != "" && !hasAnchor(siteFile(t, file), anchor) {
			t.Errorf("%s: %s has no anchor #%s", page, file, anchor)
		}
	}
}

func hasAnchor(text, anchor string) bool {
	return slices.ContainsFunc(siteID.FindAllStringSubmatch(text, -1), func(m []string) bool { return html.UnescapeString(m[1]) == anchor })
}

func siteFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(siteDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
