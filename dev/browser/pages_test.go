package browser_test

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// inspect lists what is wrong with how a page looks.
//
//go:embed inspect.js
var inspect string

// attempts tries what the policy of pages forbids, and becomes what it stopped.
//
//go:embed attempts.js
var attempts string

// TestDashboard is a walk through the dashboard of a cluster that is well. With -short, what does not depend on the
// store is looked at on nodes alone.
func TestDashboard(t *testing.T) {
	t.Parallel()
	onEach(t, append(servers("MariaDB"), nodes()), func(t *testing.T, on kind) {
		c, home := newShop(t, on)
		browser := startBrowser(t)
		t.Run("acts", func(t *testing.T) { testCommands(t, browser, home) })
		t.Run("live", func(t *testing.T) { testLive(t, browser, c, home) })
		t.Run("place", func(t *testing.T) { login(t, browser, home, "viewer").keepsItsPlace() })
		if c.server == nil || !testing.Short() {
			t.Run("refused", func(t *testing.T) { testRefused(t, browser, home) })
			t.Run("keyboard", func(t *testing.T) { testKeyboard(t, browser, home) })
			t.Run("sign-on", func(t *testing.T) { testSignOn(t, browser, home) })
		}
		t.Run("pages", func(t *testing.T) { testPages(t, browser, home) }) // last: all that the others did is on them
	})
}

// testPages looks at every page with everything that somebody could have written into
// it: with and without scripts, dark and light, at a desk and on a phone.
func testPages(t *testing.T, browser *chromium, home string) {
	b := login(t, browser, home, "admin")
	b.asksPlainly("/jobs/heartbeat", "/jobs/heartbeat/pause", strings.Repeat("the partner moves to another data centre, ask Bob; ", 5)+strings.Repeat("unbroken", 30))
	paths := everyPage(b)
	for _, scripts := range []bool{true, false} {
		b.scripts(scripts)
		for _, path := range paths {
			status := b.open(path)
			if gone := strings.Contains(path, "/no-"); status != 200 && !gone {
				t.Errorf("%s is answered with %d:\n%s", path, status, b.text())
			}
			if scripts {
				b.looksWell(path)
			} else { // colours are the same
				b.looks(path, narrow, "dark")
			}
		}
	}
	b.size(wide, tall)
	b.scripts(true)
	b.resists("/jobs/hostile")
	if b.open("/jobs/hostile") != 200 || !strings.Contains(b.text(), hostile) {
		t.Errorf("what somebody wrote is not shown as it was written:\n%s", b.text())
	}
}

// resists wants the policy of a page to hold against what somebody might get into it
// all the same: each attempt is made, and must be reported as a violation of its part.
func (b *tab) resists(path string) {
	b.t.Helper()
	b.open(path)
	broken := await[[]string](b, attempts)
	if want := []string{"connect-src", "form-action", "frame-src", "img-src", "script-src-attr", "script-src-elem", "style-src-attr", "style-src-elem"}; !slices.Equal(broken, want) {
		b.t.Errorf("%s: the policy has stopped %q, not %q", path, broken, want)
	}
	if eval[bool](b, `!!window.hurt`) {
		b.t.Errorf("%s: a script that is not of the dashboard has run", path)
	}
	b.noticed() // what the browser says of each
}

// looksWell inspects the page that is open, at each size and in both colours.
func (b *tab) looksWell(path string) {
	b.t.Helper()
	for _, width := range []int64{wide, narrow} {
		for _, colours := range []string{"light", "dark"} {
			b.looks(path, width, colours)
		}
	}
	b.size(wide, tall)
}

// looks inspects it so wide, and in these colours.
func (b *tab) looks(path string, width int64, colours string) {
	b.t.Helper()
	b.size(width, tall)
	b.likes(colours)
	for _, wrong := range append(eval[[]string](b, inspect), b.noticed()...) {
		b.t.Errorf("%s (%s, %d pixels) %s", path, colours, width, wrong)
	}
}

// everyPage lists the paths of all pages: those of the navigation, those of jobs,
// runs and forms, and those of what is not there.
func everyPage(b *tab) []string {
	b.open("/")
	paths := b.links(`header nav a`)
	if len(paths) < 8 {
		b.t.Fatalf("the navigation has only %v", paths)
	}
	b.open("/ticks?job=hostile")
	paths = append(paths, b.links(`tbody a[href*="/runs/"]`)...)
	b.open("/ticks?job=nightly-report")
	paths = append(paths, b.links(`tbody a[href*="/runs/"]`)[0])
	for _, job := range []string{"heartbeat", "nightly-report", "hostile", "import", url.PathEscape(hostile)} {
		paths = append(paths, "/jobs/"+job)
	}
	for _, command := range []string{"trigger", "pause", "resume", "backfill", "cancel"} {
		paths = append(paths, "/jobs/heartbeat/"+command)
	}
	paths = append(paths, "/?range=15m&tz=local", "/?range=24h&tz=Europe%2FParis", "/ticks?job=hourly-sync&trigger=backfill", "/nodes?check=1",
		"/pause", "/resume", "/locks/heartbeat/release", "/no-page", "/jobs/no-job", "/runs/no-run")
	slices.Sort(paths)
	return slices.Compact(paths)
}

// links are the paths below home that the elements lead to.
func (b *tab) links(selector string) []string {
	b.t.Helper()
	var paths []string
	for _, at := range eval[[]string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map(e => e.href)`) {
		paths = append(paths, strings.TrimPrefix(at, b.home))
	}
	return paths
}
