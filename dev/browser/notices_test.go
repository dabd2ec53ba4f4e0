package browser_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// notices are what no page may do: break its policy, let a script fail, or open a
// dialog.
type notices struct {
	mu   sync.Mutex
	list []string
}

func watch(b *tab) *notices {
	b.t.Helper()
	n := new(notices)
	err := chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			// What the network says is no fault of a page: a refused command is answered by 403.
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
				n.add("%s: %s", e.Entry.Source, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			n.add("exception: %s", e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				n.add("console: %s", e.Type)
			}
		case *page.EventJavascriptDialogOpening:
			n.add("dialog: %s", e.Message)
			go closeDialog(b.ctx)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// closeDialog lets the page go on. It ends with the tab.
func closeDialog(ctx context.Context) {
	_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}) // it was noted
}

func (n *notices) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

// noticed returns what was noticed since the last call.
func (n *notices) noticed() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := slices.Clone(n.list)
	n.list = nil
	return list
}
