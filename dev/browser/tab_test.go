package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Sizes of windows: of a desk, and of a phone.
const (
	wide, tall   = 1280, 900
	narrow, long = 390, 844
)

// chromium is a browser.
type chromium struct{ ctx context.Context }

// startBrowser starts Chromium, to live as long as the test.
func startBrowser(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("this test needs Chromium; on Debian: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(patience))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it has none for root
	}
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return &chromium{ctx}
}

// A tab is a window of a browser that has seen nothing before. Its methods fail the
// test when they cannot do what they say.
type tab struct {
	*notices
	t    *testing.T
	ctx  context.Context
	home string // the address that paths go behind
}

// newTab opens a tab at the dashboard of a replica. Nobody is logged in.
func newTab(t *testing.T, browser *chromium, home string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil { // what opens the tab is what it lives as long as
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, home: home}
	do(b, chromedp.EmulateViewport(wide, tall))
	b.notices = watch(b)
	return b
}

// login opens a tab of a user.
func login(t *testing.T, browser *chromium, home, name string) *tab {
	t.Helper()
	b := newTab(t, browser, home)
	at, err := url.Parse(home + "/login")
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(name, password) // as if typed into the browser's question
	do(b, chromedp.Navigate(at.String()))
	b.wait("logged in as "+name, `document.querySelector("footer").innerText.includes(`+quote(name)+`)`)
	return b
}

// do does what has no answer.
func do(b *tab, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", b.where(), err)
	}
}

// eval returns what an expression is in the page, also while the page may not run
// scripts of its own.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.where(), expression, err)
	}
	return got
}

// await returns what a promise becomes.
func await[T any](b *tab, promise string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](promise, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.where(), promise, err)
	}
	return got
}

// open goes to a path below home and returns the status of the answer.
func (b *tab) open(path string) int64 {
	b.t.Helper()
	return b.load(path, chromedp.Navigate(b.home+path))
}

// click clicks on what leads to another page, and returns the status of that.
func (b *tab) click(selector string) int64 {
	b.t.Helper()
	return b.load("click on "+selector, chromedp.Click(selector))
}

func (b *tab) load(what string, step chromedp.Action[chromedp.Void]) int64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	reply, err := chromedp.RunResponse(ctx, step)
	for tries := 1; err != nil && strings.Contains(err.Error(), "Could not find node") && tries < 5; tries++ { // a live update has replaced it
		reply, err = chromedp.RunResponse(ctx, step)
	}
	if err != nil {
		b.t.Fatalf("%s: %s: %v\n%s", b.where(), what, err, b.text())
	}
	return reply.Status
}

// fill writes into a field of the page's form.
func (b *tab) fill(name, text string) {
	b.t.Helper()
	do(b, chromedp.SetValue(fmt.Sprintf("form.act [name=%q]", name), text))
}

// text is what one reads in the page.
func (b *tab) text() string {
	return eval[string](b, `(document.querySelector("main") || document.body).innerText`)
}

// sees wants the page to say each of the words.
func (b *tab) sees(words ...string) {
	b.t.Helper()
	text := b.text()
	for _, one := range words {
		if !strings.Contains(text, one) {
			b.t.Errorf("%s does not say %q:\n%s", b.where(), one, text)
		}
	}
}

// wait waits until an expression is true. Navigation meanwhile does no harm.
func (b *tab) wait(what, expression string) {
	b.t.Helper()
	b.retry(what, expression, func() {})
}

// waitLoading reads the page again until an expression is true, as one does whose
// browser runs no scripts.
func (b *tab) waitLoading(what, expression string) {
	b.t.Helper()
	here := strings.TrimPrefix(b.where(), b.home)
	b.retry(what, expression, func() { b.open(here) })
}

func (b *tab) retry(what, expression string, between func()) {
	b.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && is {
			return
		}
		select {
		case <-again.C:
			between()
		case <-giveUp.C:
			b.t.Fatalf("%s: still waiting: %s (%v)\n%s", b.where(), what, err, b.text())
		}
	}
}

// where is the address of the page.
func (b *tab) where() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location()) // only for messages
	return at
}

// size makes the window so large.
func (b *tab) size(width, height int64) { do(b, chromedp.EmulateViewport(width, height)) }

// scripts lets pages run scripts, or not.
func (b *tab) scripts(run bool) {
	b.t.Helper()
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run})
		return err
	})
}

// likes makes the browser one of who likes dark or light pages.
func (b *tab) likes(scheme string) {
	b.t.Helper()
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

func (b *tab) call(f func(ctx context.Context) error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := f(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// quote writes a text as scripts do.
func quote(text string) string { return fmt.Sprintf("%q", text) }
