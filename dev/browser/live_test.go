package browser_test

import (
	"fmt"
	"testing"
)

// testLive follows a run on three pages that were opened while it went on, and wants
// each to say how it ended without being read again by whoever looks at it.
func testLive(t *testing.T, browser *chromium, c *cluster, home string) {
	desk, beside, above := login(t, browser, home, "operator"), login(t, browser, home, "viewer"), login(t, browser, home, "viewer")
	desk.begins("slow", (*tab).wait)
	beside.open(desk.links(`#running a[href*="/runs/slow"]`)[0])
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
	desk.wait("no run of it is running", `!`+isRunning("slow"))
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

// keepsItsPlace wants updates of the overview to leave the keyboard and the page where they are.
func (b *tab) keepsItsPlace() {
	b.t.Helper()
	const place = `document.getElementById("row-heartbeat").querySelector("a")`
	updates := 20
	if testing.Short() {
		updates = 5
	}
	b.open("/")
	b.size(wide, 300)
	eval[bool](b, `(() => {
	  `+place+`.focus();
	  new MutationObserver(() => window.updates = (window.updates || 0) + 1).observe(document.body, {childList: true}); // of the footer
	  return true;
	})()`)
	b.wait("some updates", fmt.Sprintf("window.updates >= %d", updates))
	if !eval[bool](b, place+` === document.activeElement`) {
		b.t.Errorf("after %d updates the keyboard is at %q", updates, eval[string](b, `document.activeElement.outerHTML.slice(0, 80)`))
	}
	// What grows above may scroll the page, so that what one reads stays where it is.
	if at := eval[float64](b, place+`.getBoundingClientRect().top`); at < 0 || at > 300 || eval[float64](b, `window.scrollY`) == 0 {
		b.t.Errorf("updates have scrolled the page: what had the keyboard is at %v", at)
	}
	b.isToldOfNewRuns()
	b.countsDown()
	b.size(wide, tall)
}

// countsDown puts a countdown beside what updates replace, and wants the seconds to pass.
func (b *tab) countsDown() {
	b.t.Helper()
	eval[bool](b, `(() => {
	  window.counters = [60, -60].map(seconds => {
	    const e = document.createElement("time");
	    e.dataset.count = "";
	    e.setAttribute("datetime", new Date(Date.now() + seconds * 1000).toISOString());
	    document.getElementById("menu").append(e);
	    return e;
	  });
	  return true;
	})()`)
	b.wait("some seconds left", `/^in [1-5]?[0-9] s$/.test(counters[0].textContent)`)
	b.wait("no seconds left", `counters[1].textContent === "due"`)
}

// isToldOfNewRuns reads further down the list of runs: new ones do not move it, and are shown when asked for.
func (b *tab) isToldOfNewRuns() {
	b.t.Helper()
	const first, note = `document.querySelector("[data-newest] a[href*='/runs/']").href`, `document.querySelector("#new button")`
	b.open("/ticks?job=heartbeat")
	b.waitLoading("enough runs", `document.querySelectorAll("[data-newest] tbody tr").length > 12`)
	eval[bool](b, `(() => { const list = document.querySelector("[data-newest]"); window.scrollTo(0, list.offsetTop + list.offsetHeight / 2); window.first = `+first+`; return true; })()`)
	b.wait("a word of new runs", note+` && `+note+`.textContent.endsWith(" new")`)
	if !eval[bool](b, first+` === window.first && window.scrollY > 0`) {
		b.t.Errorf("new runs have moved what somebody reads:\n%s", b.text())
	}
	eval[bool](b, note+`.click() === undefined`)
	b.wait("the new runs", first+` !== window.first && window.scrollY === 0 && !`+note)
}
