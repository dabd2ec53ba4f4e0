package browser_test

import (
	"testing"
)

// testLive follows a run on three pages that were opened while it went on, and wants
// each to say how it ended without being read again by whoever looks at it.
func testLive(t *testing.T, browser *chromium, c *cluster, home string) {
	desk, beside, above := login(t, browser, home, "operator"), login(t, browser, home, "viewer"), login(t, browser, home, "viewer")
	desk.begins("slow", (*tab).wait)
	beside.open(desk.links(`main table a[href*="/runs/slow"]`)[0])
	above.open("/ticks?job=slow")
	for _, b := range []*tab{desk, beside, above} {
		eval[bool](b, `window.opened = true`) // goes when the page is loaded anew
		b.sees("slow", "running")
	}
	beside.wait("extensions of the lease", says("All extensions"))
	eval[bool](beside, `document.querySelector("details").open = true`)
	eval[bool](desk, `document.querySelector("footer select").focus() === undefined`)
	c.lets()
	beside.wait("the end of the run", says("succeeded"))
	beside.wait("its log", says("second half"))
	if !eval[bool](beside, `document.querySelector("details").open`) {
		t.Error("an update has closed what somebody had opened")
	}
	above.wait("the end of the run", lists("succeeded"))
	desk.wait("no run of it is running", `!`+says("slow (replica web-"))
	if on := eval[string](desk, `document.activeElement.name || ""`); on != "tz" {
		t.Errorf("the keyboard was taken away from the footer: it is at %q", on)
	}
	for _, b := range []*tab{desk, beside, above} {
		if !eval[bool](b, `window.opened === true`) {
			t.Errorf("%s was loaded anew", b.where())
		}
		if bad := b.noticed(); len(bad) > 0 {
			t.Errorf("%s: %v", b.where(), bad)
		}
	}
}
