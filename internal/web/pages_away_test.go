package web_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/web"
)

// What was read a while ago is judged as of then: a replica is not silent because
// nobody can be asked about it, and what was to come may be over. Where nothing was
// read before, that is not taken for nothing.
func TestOverviewWithoutQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *web.Config) {
			c.Control.Roster, c.Control.Ledger, c.Control.Remembered = roster{c.Control.Roster, away}, pagesLedger{c.Control.Ledger, away}, nil
		})
		never := func(path string) {
			t.Helper()
			r.shows(path, []string{"The state of the replicas is unknown", "The runs are unknown", "Unknown.", "votes again after its grace"},
				[]string{"Nothing is running", "Nothing has run", "This page was read at", `<svg class="timeline`})
		}
		away.Store(true)
		never("/")
		away.Store(false)
		r.shows("/", []string{"1 replica, ready", "Nothing is running", "Skip the timeline", "All next ticks are paused: "}, []string{"ot known"})
		r.shows("/replicas", []string{"ready"}, []string{"silent"})
		away.Store(true)
		time.Sleep(3 * time.Hour)
		r.shows("/", []string{"This page was read at", "3 h ago", "1 replica, ready"}, []string{"silent", "is not known"})
		r.shows("/replicas", []string{"This page was read at"}, []string{"silent"})
		never("/?range=24h")
	})
}

// shows wants a page to say some words, and none of others.
func (r *rig) shows(path string, words, not []string) {
	r.Helper()
	a := r.ask(viewer, "GET", path, "")
	text := string(a.body)
	for _, one := range words {
		if !strings.Contains(text, one) {
			r.Errorf("%s does not say %q: %s", path, one, text)
		}
	}
	for _, one := range not {
		if strings.Contains(text, one) {
			r.Errorf("%s says %q: %s", path, one, text)
		}
	}
	if a.status != http.StatusOK {
		r.Errorf("%s: %d", path, a.status)
	}
}

// What is refused says what to do, to who it is.
func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tt := range []struct {
		who    secret
		path   string
		status int
		words  []string
	}{
		{viewer, "/nothing", 404, []string{"there is no page /nothing", "bob, viewer", `<a href="/jobs">jobs</a>`}},
		{viewer, "/jobs/nothing?tz=local", 404, []string{"nothing", `<a href="/jobs?tz=local">jobs</a>`}},
		{viewer, "/runs/x", 400, []string{"is not a run ID", `<a href="/ticks">ticks</a>`}},
		{viewer, "/ticks?since=x", 400, []string{"Cannot show this page", "2027-01-01T00:00:00Z", `<a href="/ticks">Show the page without it</a>`}},
		{viewer, "/pause", 200, []string{"This needs the role operator", "You are bob, with role viewer", "http.users"}},
		{nobody, "/", 401, []string{"Log in", "http.users", "/login?back="}},
	} {
		a := r.ask(tt.who, "GET", tt.path, "")
		for _, one := range tt.words {
			if !strings.Contains(string(a.body), one) {
				t.Errorf("%s does not say %q: %s", tt.path, one, a.body)
			}
		}
		if a.status != tt.status {
			t.Errorf("%s: %d, not %d", tt.path, a.status, tt.status)
		}
	}
}
