package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// What was read a while ago is judged as of then: a replica is not silent because
// nobody can be asked about it, and what was to come may be over. Where nothing was
// read before, that is not taken for nothing.
func TestOverviewWithoutQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *setup) {
			c.away(away)
		})
		never := func(path string) {
			t.Helper()
			r.shows(path, []string{"The state of the replicas is unknown", "The runs are unknown", "votes again after its grace"},
				[]string{"Nothing is running", "Nothing has run", "This page was read at", `<svg class="cells`})
		}
		away.Store(true)
		never("/")
		away.Store(false)
		r.shows("/", []string{"1 replica, ready", "Nothing is running", `<svg class="cells`, "All next ticks are paused."}, []string{"ot known"})
		r.shows("/replicas", []string{"ready"}, []string{"silent"})
		away.Store(true)
		time.Sleep(3 * time.Hour)
		r.shows("/", []string{"This page was read at", "3 h ago", ": 1 replica, ready", "Running when this was read"}, []string{"silent", "is not known", "Next: ", "Running now", "in 1 h"})
		r.shows("/replicas", []string{"This page was read at", "was ready"}, []string{"silent", "✓"})
		r.shows("/?range=24h", []string{"This page was read at", ": 1 replica, ready"}, []string{"is unknown"})
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

// gracefulCommands are those of new nodes, which answer but do not vouch for commands yet.
type gracefulCommands struct{ store.Commands }

func (gracefulCommands) Open(context.Context) (commands.Open, error) {
	return commands.Open{}, fmt.Errorf("reading the commands: %w, %w", locking.ErrNoQuorum, commands.ErrGrace)
}

// While new nodes wait for their grace, every page shows what is known, and says what is
// not.
func TestPagesOfNewNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Control.Records.Commands = gracefulCommands{c.Control.Records.Commands} })
	info := roster.JobInfo{Name: "fresh", Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, ConfigHash: "c1"}
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{info}))
	r.shows("/", []string{"Pauses and requests are not known yet"}, []string{"missed.", "Missed in", "is unknown"})
	for _, path := range []string{"/jobs", "/jobs/report"} {
		r.shows(path, []string{"Pauses and requests are not known yet", "Every hour"}, []string{"outage"})
	}
	for _, path := range []string{"/api/v1/jobs", "/api/v1/jobs/report", "/api/v1/next"} {
		if a := r.ask(viewer, "GET", path, ""); a.status != http.StatusOK || !strings.Contains(string(a.body), "not known yet") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := r.ask(viewer, "GET", "/api/v1/pauses", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("pauses: %d %s", a.status, a.body)
	}
}

// Where the nodes vote and only a reading fails, nobody is told that none of them answers.
func TestSlowReadingIsNoOutage(t *testing.T) {
	t.Parallel()
	away := new(atomic.Bool)
	away.Store(true)
	r := newRig(t, func(c *setup) {
		c.Control.Records.Ledger, c.Control.Health = pagesLedger{c.Control.Records.Ledger, away}, votingNodes{}
	})
	r.shows("/", []string{"1 of 1 node votes", "it could not be read, although the nodes answer"}, []string{"no quorum of nodes answers"})
	away.Store(false)
	for _, page := range []string{"/", "/ticks"} {
		r.shows(page, nil, []string{"This page was read at"})
	}
	away.Store(true)
	for _, page := range []string{"/", "/ticks"} {
		r.shows(page, []string{"Not all could be read just now. This page was read at"}, []string{"No quorum of nodes answered"})
	}
}

// votingNodes is one node that votes.
type votingNodes struct{ fewNodes }

func (votingNodes) Inspect(ctx context.Context) []health.Node { return fewNodes{}.Inspect(ctx)[:1] }

// What replicas recorded while the pages could not be read is on them afterwards.
func TestOutageLeavesNoGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *setup) { c.away(away) })
		r.shows("/", []string{`aria-label="1 skipped of 1 tick"`}, nil)
		away.Store(true)
		time.Sleep(10 * time.Second)
		r.record(ledger.Entry{Job: "sweep", Tick: time.Now().Truncate(time.Second), Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeNoQuorum}})
		time.Sleep(2 * time.Minute)
		r.shows("/", []string{"This page was read at"}, nil)
		away.Store(false)
		time.Sleep(5 * time.Second)
		r.shows("/", []string{"1 tick of sweep missed."}, []string{"This page was read at"})
	})
}

// What the ledger does not keep is not counted as if it had not been.
func TestOverviewSaysWhatIsDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Second)
	for n := range 30 {
		r.record(ledger.Entry{Job: "sweep", Tick: now.Add(-time.Duration(n+1) * time.Minute), Outcome: ledger.Missed, Reason: ledger.TextReason("x")})
	}
	r.must(r.ledger.Store(t.Context(), "sweep", jobs.History{Keep: 5}))
	r.shows("/?range=1h", []string{"at least 3</b>", "The ledger keeps less than this range or 24 h of sweep"}, nil)
}

// A cluster with a namespace of its own is named, so that nobody takes it for another.
func TestNamespaceIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Host.Namespace = "shop" })
	r.shows("/jobs", []string{"<title>Jobs · Quorate shop</title>", `Quorate <span class="tag">shop</span></a>`}, nil)
}
