package browser_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused says where the keyboard is: the place among all that can have it, what it
// is, and whether one sees that.
const focused = `(() => {
  const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility());
  const e = document.activeElement, at = all.indexOf(e);
  if (at < 0) return e.scrollHeight > e.clientHeight && e !== document.body ? "scrolls" : "";
  const style = getComputedStyle(e), child = e.querySelector("rect, circle, text");
  const seen = style.outlineStyle !== "none" || e.type === "datetime-local" || (child && getComputedStyle(child).strokeWidth !== "0px");
  return [at, all.length, seen ? "seen" : "unseen", (e.innerText || e.name || e.textContent || "").trim().slice(0, 30)].join("|");
})()`

// testKeyboard walks by keyboard alone: through every page in the order of what
// stands there, over the header by the skip link, and through a command.
func testKeyboard(t *testing.T, browser *chromium, home string) {
	b := login(t, browser, home, "admin")
	eval[bool](b, `sessionStorage.setItem("live", "off") === undefined`) // so that stops stay where they are
	for _, path := range []string{"/", "/jobs", "/jobs/nightly-report", "/ticks?job=nightly-report", "/replicas", "/nodes", "/locks", "/configuration", "/audit", "/jobs/nightly-report/backfill", "/no-page"} {
		b.open(path)
		b.walks(path)
	}

	b.keys()
	b.strips()

	b.open("/jobs/nightly-report")
	b.press(kb.Tab)
	if on := eval[string](b, `document.activeElement.textContent`); !strings.Contains(on, "Skip") {
		t.Errorf("the first stop is %q, not the way to the content", on)
	}
	b.press(kb.Enter)
	b.reaches("Pause…")
	b.press(kb.Enter)
	b.wait("the form", `document.querySelector("form.act [name=reason]")`)
	for eval[string](b, `document.activeElement.name || ""`) != "reason" {
		b.press(kb.Tab)
	}
	b.press("by keyboard")
	b.press(kb.Enter)
	b.wait("the job is paused", says("Its ticks are skipped")+` && `+says("by keyboard"))
	b.asks("/jobs/nightly-report", "/jobs/nightly-report/resume")
	b.send("Resumed")
}

// keys goes from page to page, and from row to row, by single keys.
func (b *tab) keys() {
	b.t.Helper()
	b.open("/")
	b.press("g")
	b.press("r")
	b.wait("g r leads to the ticks", `location.pathname.endsWith("/ticks") && document.readyState === "complete"`)
	b.press("/")
	b.wait("/ leads to the search for jobs", `location.pathname.endsWith("/jobs") && document.readyState === "complete" && document.activeElement.id === "search"`)
	b.press("g") // is typed
	if typed := eval[string](b, `document.activeElement.value`); typed != "g" {
		b.t.Errorf("the field has %q", typed)
	}
	eval[bool](b, `document.activeElement.blur() === undefined`)
	b.press("j")
	b.press("j")
	b.press("k")
	first := eval[string](b, `document.querySelector("main tbody a").href`)
	if on := eval[string](b, `document.activeElement.href || ""`); on != first {
		b.t.Errorf("j j k is at %q, the first row leads to %q", on, first)
	}
	b.press("?")
	b.wait("? lists the keys", `document.getElementById("keys").open`)
	b.press(kb.Escape)
	b.wait("Escape closes them", `!document.getElementById("keys").open`)
	b.press(kb.Enter)
	b.wait("Enter opens the job", `location.href === `+quote(first))
}

// strips goes from tick to tick on the overview, whose strips are one stop.
func (b *tab) strips() {
	b.t.Helper()
	const tip = `(document.getElementById("tip") || {}).textContent || ""`
	b.open("/?range=24h")
	if n := eval[int](b, `document.querySelectorAll(".cells[tabindex='0']").length`); n != 1 {
		b.t.Errorf("%d strips are stops of the Tab key", n)
	}
	eval[bool](b, `document.querySelector(".cells[tabindex='0']").focus() === undefined`)
	first := eval[string](b, tip)
	b.press(kb.ArrowDown)
	below := eval[string](b, tip)
	if at := eval[int](b, `[...document.querySelectorAll(".cells")].indexOf(document.activeElement)`); at != 1 || first == "" || below == "" {
		b.t.Errorf("the keyboard is in strip %d, which says %q; the first one says %q", at, below, first)
	}
	b.press(kb.ArrowUp)
	b.press(kb.ArrowLeft)
	if at := eval[int](b, `[...document.querySelectorAll(".cells")].indexOf(document.activeElement)`); at != 0 || eval[string](b, tip) == "" {
		b.t.Errorf("the keyboard is in strip %d, and nothing is said", at)
	}
	b.press(kb.Tab)
	if left := eval[string](b, tip); left != "" {
		b.t.Errorf("what a strip says stays: %q", left)
	}
}

// walks goes through all stops of a page, each after the one before it.
func (b *tab) walks(path string) {
	b.t.Helper()
	for last := -1; ; {
		b.press(kb.Tab)
		stop := eval[string](b, focused)
		if stop == "scrolls" { // browsers let one scroll by keyboard what has more than it shows
			continue
		}
		at, all, seen, what := parts(stop)
		if last != at && last+1 != at { // a field for times has several stops
			b.t.Errorf("%s: after stop %d comes %q", path, last, stop)
			return
		}
		if seen != "seen" {
			b.t.Errorf("%s: one does not see that the keyboard is at %q", path, what)
		}
		if last = at; at == all-1 {
			return
		}
	}
}

// reaches presses Tab until the keyboard is at what has the text.
func (b *tab) reaches(text string) {
	b.t.Helper()
	for range 100 {
		b.press(kb.Tab)
		if _, _, _, what := parts(eval[string](b, focused)); what == text {
			return
		}
	}
	b.t.Fatalf("%s: the keyboard never reaches %q", b.where(), text)
}

func (b *tab) press(keys string) {
	b.t.Helper()
	do(b, chromedp.KeyEvent(keys))
}

// parts takes apart what focused returns.
func parts(stop string) (at, all int, seen, what string) {
	fields := strings.SplitN(stop, "|", 4)
	if len(fields) < 4 {
		return -1, 0, "", ""
	}
	at, _ = strconv.Atoi(fields[0]) // written by the script above
	all, _ = strconv.Atoi(fields[1])
	return at, all, fields[2], fields[3]
}
