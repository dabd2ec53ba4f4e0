package dashboard_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// runID is that of the latest run of report.
func (r *rig) runID() string {
	r.Helper()
	items, _ := get[view.Run](r, "/api/v1/jobs/report/runs?limit=1")
	return *items[0].ID
}

// paths are those of all pages.
func (r *rig) paths() []string {
	return []string{
		"/", "/?range=24h&tz=local", "/jobs", "/jobs?q=FINANCE", "/jobs/report", "/jobs/report?tz=job", "/ticks", "/ticks?job=report&outcome=failed",
		"/ticks?tz=Asia%2FKolkata", "/runs/" + r.runID(), "/replicas", "/nodes", "/nodes?check=1", "/locks", "/configuration", "/configuration?set=report&from=report&to=report", "/audit",
		"/jobs/report/trigger", "/jobs/report/pause", "/jobs/report/resume", "/jobs/report/backfill", "/jobs/report/cancel", "/pause", "/resume",
		"/locks/report/release",
	}
}

// Every page is complete without scripts, allows none but its own, and shows what
// others wrote as text.
func TestDashboard(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) {
		c.Settings = func() (any, func(...string) string) { return map[string]string{"x": hostile}, nil }
		c.Control.Claims = heldNodes{}
	})
	r.run(time.Now().Add(-time.Second).Truncate(time.Millisecond), ledger.Running)
	failed, _ := get[view.Run](r, "/api/v1/jobs/report/runs?outcome=failed")
	for _, path := range append(r.paths(), "/runs/"+*failed[0].ID) {
		a := r.ask(admin, "GET", path, "")
		text := string(a.body)
		if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, a.status, text)
			continue
		}
		if policy := a.header.Get("Content-Security-Policy"); policy != wantPolicy {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		for _, foul := range []string{"<script>", "alert(\"", " style=", " onclick=", "ZgotmplZ", "%!", "{{", "(0x", "no value"} {
			if strings.Contains(text, foul) {
				t.Errorf("%s has %s: %s", path, foul, text)
			}
		}
		if !strings.Contains(text, "</html>") || strings.Count(text, "<h1") != 1 {
			t.Errorf("%s is not laid out: %s", path, text)
		}
	}
}

const wantPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// heldNodes are nodes with a lock that somebody holds.
type heldNodes struct{ fewNodes }

func (heldNodes) Holders(context.Context) ([]locking.Holding, error) {
	return []locking.Holding{{Name: "report", Holder: hostile, Token: 1, Left: time.Minute, On: locking.Votes{For: 2, Of: 2}}}, nil
}

// What is not there, or cannot be asked for, is said in a page that says what to do.
func TestPagesThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]int{
		"/nothing": 404, "/jobs/nothing": 404, "/runs/x": 400, "/runs/report@20200101T000000.000Z": 404, "/?range=9h": 400, "/?tz=Mars": 400,
		"/ticks?outcome=x": 400, "/ticks?since=x": 400, "/static/nothing": 404, "/ticks?cursor=!": 400, "/jobs?%zz": 400,
	} {
		a := r.ask(viewer, "GET", path, "")
		if a.status != want || !strings.Contains(string(a.body), "role=\"alert\"") || a.header.Get("Content-Security-Policy") != wantPolicy {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	a := r.ask(nobody, "GET", "/", "")
	if a.status != http.StatusUnauthorized || len(a.header.Values("WWW-Authenticate")) == 0 || strings.Contains(string(a.body), "report") {
		t.Errorf("nobody: %d %v %s", a.status, a.header, a.body)
	}
}

// The overview says in words what is wrong, and shows it over time.
func TestOverviewInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.shows("/?range=1h", []string{
		"<title>✕ 1 of 2 nodes votes (n2 is down) · Quorate</title>", "icon-bad.svg",
		"1 of 2 nodes votes (n2 is down): no quorum. No tick can start until 2 of them vote.", "1 job fails: report.", "1 replica, ready; no other can take over.",
		`aria-label="3 failed of 3 ticks"`, `aria-label="1 skipped of 1 tick"`, "While it restarts, no tick starts.",
		"<b>tag finance</b>", "Nothing is running.", "All next ticks are paused.", `<b class="bad">3</b>`,
	}, nil)
}

// A job whose last tick did not succeed stays in sight, however many ticks of others came since, and however long
// ago it was.
func TestOverviewSaysWhoIsInNeed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Second)
	for n := range 430 {
		r.record(ledger.Entry{Job: "sweep", Tick: now.Add(-time.Duration(n) * time.Second), Outcome: ledger.Skipped, Reason: ledger.TextReason("x")})
	}
	page := func(who secret) string {
		_, text, _ := strings.Cut(string(r.ask(who, "GET", "/?range=15m", "").body), `id="needs"`)
		text, _, _ = strings.Cut(text, "</section>")
		return text
	}
	text := page(viewer)
	for _, want := range []string{">report</b>", "failed", "3 in a row · no success in the ledger"} {
		if !strings.Contains(text, want) {
			t.Errorf("needs you lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "sweep") || strings.Contains(text, "Trigger") || !strings.Contains(page(operator), "/jobs/report/trigger") {
		t.Errorf("needs you has what it should not, or an operator cannot trigger: %s", text)
	}
	r.run(now.Add(time.Second), ledger.Succeeded)
	if text := page(viewer); text != "" {
		t.Errorf("after a success: %s", text)
	}
}

// However many ticks come, the overview has all that are kept, in the page's range; misses with one cause are
// one incident, whose ticks an operator can run.
func TestOverviewHasAllThatIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Second)
	for n := range 430 {
		r.record(ledger.Entry{Job: "sweep", Tick: now.Add(-time.Duration(n) * time.Second), Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeAsleep}})
	}
	r.shows("/?range=1h&tz=Europe%2FParis", []string{
		"Replicas were asleep, stopped or too busy", "429 ticks of sweep missed.", "/ticks?tz=Europe%2FParis&amp;since=", "&amp;outcome=missed", `aria-label="1 skipped, 429 missed of 430 ticks"`,
	}, []string{"backfill"})
	if text := string(r.ask(operator, "GET", "/?range=7d", "").body); !strings.Contains(text, "/jobs/sweep/backfill?from="+url.QueryEscape(now.UTC().Add(-429*time.Second).Format("2006-01-02T15:04:05"))+"&amp;to=") {
		t.Errorf("an operator cannot run what was missed: %s", text)
	}
}

// While no quorum answers pages show what was read last, and since when.
func TestPagesWithoutQuorum(t *testing.T) {
	t.Parallel()
	away := new(atomic.Bool)
	r := newRig(t, func(c *setup) {
		c.away(away)
	})
	before := r.ask(viewer, "GET", "/jobs/report", "")
	away.Store(true)
	after := r.ask(viewer, "GET", "/jobs/report", "")
	if after.status != http.StatusOK || !strings.Contains(string(after.body), "This page was read at") || strings.Contains(string(before.body), "This page was read at") {
		t.Errorf("without a quorum: %d %s", after.status, after.body)
	}
	if a := r.ask(viewer, "GET", "/ticks", ""); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("what was never read: %d %s", a.status, a.body)
	}
	if a := r.ask(viewer, "GET", "/", ""); a.status != http.StatusOK || !strings.Contains(string(a.body), "The state of the replicas is unknown") {
		t.Errorf("the overview: %d %s", a.status, a.body)
	}
}

// away lets roster and ledger not answer while it is set.
func (c *setup) away(away *atomic.Bool) {
	kept := &c.Control.Records
	kept.Roster, kept.Ledger = awayRoster{kept.Roster, away}, pagesLedger{kept.Ledger, away}
}

// An awayRoster does not answer while its nodes are away.
type awayRoster struct {
	store.Roster
	away *atomic.Bool
}

func (r awayRoster) Remembered(ctx context.Context) ([]roster.Replica, error) { return r.Replicas(ctx) }

func (r awayRoster) Replicas(ctx context.Context) ([]roster.Replica, error) {
	if r.away.Load() {
		return nil, locking.ErrNoQuorum
	}
	return r.Roster.Replicas(ctx)
}

// A ledger does neither.
type pagesLedger struct {
	kept
	away *atomic.Bool
}

type kept = store.Ledger

func (l pagesLedger) Skim(ctx context.Context, ask []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	if l.away.Load() {
		return nil, locking.ErrNoQuorum
	}
	return l.kept.Skim(ctx, ask, perTick)
}

// Links stay under the base path, and in the zone.
func TestLinksStayUnderTheBasePath(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.BasePath = "/admin/cron" })
	links := regexp.MustCompile(`(?:href|src|action|data-events)="([^"]*)"`)
	for _, path := range []string{"/", "/jobs", "/jobs/report", "/ticks", "/nodes", "/locks", "/audit", "/jobs/report/pause"} {
		a := r.ask(operator, "GET", "/admin/cron"+path+"?tz=local", "")
		found := links.FindAllStringSubmatch(string(a.body), -1)
		if a.status != http.StatusOK || len(found) < 10 {
			t.Fatalf("%s: %d, %d links", path, a.status, len(found))
		}
		for _, link := range found {
			to := html.UnescapeString(link[1])
			if !strings.HasPrefix(to, "/admin/cron/") && !strings.HasPrefix(to, "#") {
				t.Errorf("%s links to %s", path, to)
			}
			if !strings.HasPrefix(to, "/admin/cron/jobs") {
				continue
			}
			if got := r.ask(operator, "GET", to, ""); got.status != http.StatusOK {
				t.Errorf("%s links to %s: %d", path, to, got.status)
			}
		}
	}
}

// send fills in a form.
func (r *rig) send(who secret, path string, filled url.Values, mend ...func(*http.Request)) answer {
	r.Helper()
	mend = append([]func(*http.Request){func(req *http.Request) {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}}, mend...)
	return r.ask(who, "POST", path, filled.Encode(), mend...)
}

// Forms ask for commands as who sends them, with the reason; sent twice they ask once.
func TestForms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	from := time.Now().UTC().Truncate(time.Hour).Add(-150 * time.Minute) // half past
	day := url.Values{"reason": {"why"}, "from": {from.Format("2006-01-02T15:04")}, "to": {from.Add(2 * time.Hour).Format("2006-01-02T15:04:05")}}
	dry := maps.Clone(day)
	dry.Set("dry_run", "1")
	for _, tt := range []struct {
		path   string
		who    secret
		filled url.Values
		status int
		want   string // where it goes on, or what it says
	}{
		{"/jobs/report/trigger", operator, url.Values{"reason": {"why"}, "params": {`{"a":1}`}, "key": {"twice"}}, 303, "/jobs/report?done=trigger"},
		{"/jobs/report/trigger", operator, url.Values{"reason": {"why"}, "params": {`{"a":1}`}, "key": {"twice"}}, 303, "/jobs/report?done=trigger"},
		{"/jobs/report/trigger", operator, url.Values{"reason": {"why"}, "params": {`{`}}, 400, "role=\"alert\""},
		{"/jobs/report/trigger", operator, url.Values{}, 400, "reason"},
		{"/jobs/nothing/trigger", operator, url.Values{"reason": {"why"}}, 404, "nothing"},
		{"/jobs/report/pause", operator, url.Values{"reason": {"why"}}, 303, "/jobs/report?done=pause"},
		{"/jobs/report/resume", operator, url.Values{"reason": {"why"}}, 303, "/jobs/report?done=resume"},
		{"/jobs/report/backfill", operator, dry, 200, "2 ticks would run"},
		{"/jobs/report/backfill", operator, day, 303, "/jobs/report?done=backfill"},
		{"/jobs/report/cancel", operator, url.Values{"reason": {"why"}}, 404, "no run"},
		{"/pause", operator, url.Values{"reason": {"why"}, "tag": {"finance"}}, 303, "/jobs?done=pause"},
		{"/resume", operator, url.Values{"reason": {"why"}, "all": {"1"}}, 303, "/jobs?done=resume"},
		{"/locks/report/release", admin, url.Values{"reason": {"why"}, "confirm": {"other"}}, 400, "confirm is not report"},
		{"/locks/report/release", admin, url.Values{"reason": {"why"}, "confirm": {"report"}}, 303, "/locks?done=release"},
		{"/locks/report/release", operator, url.Values{"reason": {"why"}, "confirm": {"report"}}, 403, "needs the role admin"},
		{"/jobs/report/trigger", viewer, url.Values{"reason": {"why"}}, 403, "needs the role operator"},
		{"/jobs/report/trigger", nobody, url.Values{"reason": {"why"}}, 401, "log in"},
	} {
		a := r.send(tt.who, tt.path, tt.filled)
		if a.status != tt.status || !strings.Contains(a.header.Get("Location")+string(a.body), tt.want) {
			t.Errorf("%s %v as %q: %d %s %s", tt.path, tt.filled, tt.who.name, a.status, a.header.Get("Location"), a.body)
		}
	}
	if len(r.evicted) != 1 {
		t.Errorf("locks were taken: %v", r.evicted)
	}
	triggers := 0
	audit, _ := get[view.Command](r, "/api/v1/audit")
	for _, command := range audit {
		if command.Kind == commands.Trigger && !strings.HasPrefix(view.Text(command.Result), "refused") {
			triggers++
			if !strings.HasPrefix(view.Text(command.By), "ann@") || view.Text(command.Reason) != "why" || string(command.Params) != `{"a":1}` {
				t.Errorf("the audit log has %+v", command)
			}
		}
	}
	if triggers != 1 {
		t.Errorf("%d triggers were asked for: %+v", triggers, audit)
	}
}

// After a command the page confirms it.
func TestCommandsAreConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for kind, want := range map[string]string{
		"trigger": "Triggered: a replica will run it in a moment.", "pause": "Paused: its ticks are skipped until it is resumed, or the pause ends.",
		"resume": "Resumed: its ticks run again.", "backfill": "Backfill requested: its runs start in a moment.",
		"cancel": "Cancelled: the runs were asked to stop.", "release": "The lock was taken from its holder.",
	} {
		if a := r.ask(viewer, "GET", "/jobs/report?done="+kind, ""); !strings.Contains(string(a.body), want) {
			t.Errorf("after %s the page does not say %q: %s", kind, want, a.body)
		}
	}
}

// Pages of others send no forms.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	foreign := func(req *http.Request) { req.Header.Set("Sec-Fetch-Site", "cross-site") }
	for _, path := range []string{"/jobs/report/trigger", "/theme"} {
		if a := r.send(operator, path, url.Values{"reason": {"why"}, "to": {"dark"}}, foreign); a.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// Dark and light are chosen without scripts, and lead nowhere else.
func TestTheme(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for back, want := range map[string]string{"/jobs?q=x": "/jobs?q=x", "//evil.example/": "/", "https://evil.example/": "/", "/\\evil.example": "/", "": "/"} {
		a := r.send(nobody, "/theme", url.Values{"to": {"dark"}, "back": {back}})
		if a.status != http.StatusSeeOther || a.header.Get("Location") != want || !strings.Contains(a.header.Get("Set-Cookie"), "=dark; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax") {
			t.Errorf("back to %q: %d %v", back, a.status, a.header)
		}
	}
	a := r.ask(viewer, "GET", "/nodes", "", func(req *http.Request) { req.Header.Set("Cookie", "quorate_theme=dark") })
	if !strings.Contains(string(a.body), `data-theme="dark"`) {
		t.Errorf("the page is not dark: %s", a.body)
	}
}

// Who has less of a role is told what it takes, and is shown no button.
func TestCommandsAreShownByRole(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Control.Claims = heldNodes{} })
	for _, tt := range []struct {
		who        secret
		path, want string
		shown      bool
	}{
		{viewer, "/jobs/report", "Trigger…", false},
		{operator, "/jobs/report", "Trigger…", true},
		{operator, "/locks", "Release…", false},
		{admin, "/locks", "Release…", true},
		{viewer, "/jobs/report/trigger", `method="post" action="/jobs`, false},
		{operator, "/jobs/report/trigger", `method="post" action="/jobs`, true},
		{operator, "/locks/report/release", "This needs the role admin", true},
	} {
		if a := r.ask(tt.who, "GET", tt.path, ""); strings.Contains(string(a.body), tt.want) != tt.shown {
			t.Errorf("%s for %s: %s: %s", tt.path, tt.who.name, tt.want, a.body)
		}
	}
}

// The overview of a cluster that has just begun is not mostly empty.
func TestOverviewOfAFreshCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	here := func(name string) []string { return []string{`aria-current="true">` + name + `</a>`} }
	r.shows("/", here("15m"), here("1h"))
	r.shows("/?range=1h", here("1h"), here("15m"))
	r = newRig(t)
	r.record(ledger.Entry{Job: "sweep", Tick: time.Now().Add(-40 * time.Minute).Truncate(time.Second), Outcome: ledger.Missed, Reason: ledger.TextReason("x")})
	r.shows("/", here("1h"), here("15m"))
}

// A replica that is killed stays in sight: the overview says that it is lost and that its
// run was interrupted and repeated, and the list of replicas has it, long after 15 seconds.
// One that left is neither.
func TestKilledReplicaIsSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, at := context.Background(), time.Now()
		for _, id := range []string{"web-1", "web-2"} {
			_, err := r.roster.Beat(ctx, roster.Replica{ID: id, State: "ready", ConfigHash: "c1", Started: at})
			r.must(err)
		}
		claim := func(replica string) (locking.Lease, ledger.Entry) {
			e := ledger.Entry{Job: "report", Tick: at, Outcome: ledger.Running, Trigger: ledger.BySchedule, Replica: replica, Started: time.Now()}
			lease, err := r.locks.TryAcquire(ctx, locking.Request{
				Name: "report", Tick: at, TTL: 10 * time.Second, Holder: replica, Mode: locking.AtLeastOnce, Note: ledger.EncodeNote(e),
			})
			r.must(err)
			return lease, e
		}
		claim("web-2") // and is killed
		time.Sleep(20 * time.Second)
		lease, e := claim("web-1")
		e.Outcome, e.Finished = ledger.Succeeded, time.Now()
		r.must(lease.Release(ctx, ledger.EncodeNote(e)))
		r.must(r.roster.Leave(ctx, roster.Replica{ID: "web-1"}))
		_, err := r.roster.Beat(ctx, roster.Replica{ID: "a", State: "ready", ConfigHash: "c1", Started: at})
		r.must(err)

		r.shows("/", []string{
			"web-2 is lost, silent for 20 s", "web-1 has gone.", "Interrupted and run again in the last 24 h: report.",
			"an attempt on web-2 was interrupted; the one on web-1: succeeded",
		}, []string{"all ready"})
		r.shows("/replicas", []string{"web-2", "lost", "it did not leave", "lost for 24 hours", "Left in the last 24 hours: 1</summary>", "web-1"}, nil)
		r.shows("/ticks", []string{"run again: an attempt on web-2 was interrupted"}, nil)
		r.shows("/runs/"+e.ID(), []string{"<b>Interrupted</b>", "replica web-2 had it: interrupted"}, []string{"Handed over"})
		rows, _ := get[view.Tick](r, "/api/v1/ticks?limit=1")
		if len(rows) != 1 || rows[0].Interruptions != 1 || view.Text(rows[0].InterruptedOn) != "web-2" {
			t.Errorf("the API lists %+v", rows)
		}
		time.Sleep(time.Hour)
		_, err = r.roster.Beat(ctx, roster.Replica{ID: "a", State: "ready", ConfigHash: "c1", Started: at})
		r.must(err)
		r.shows("/", []string{"web-2 is lost, silent for 1 h", "Interrupted and run again in the last 24 h: report."}, nil)
		time.Sleep(23 * time.Hour)
		_, err = r.roster.Beat(ctx, roster.Replica{ID: "a", State: "ready", ConfigHash: "c1", Started: at})
		r.must(err)
		r.shows("/replicas", []string{"ready"}, []string{"web-1", "web-2", "Left in"})
	})
}

// A job's page says since when its version is served, not when a replica last repeated it;
// without a quorum nothing is promised for the next ticks; nodes restart one at a time.
func TestPagesSayWhatIsSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().UTC().Truncate(time.Second)
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "report", Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, ConfigHash: "c1", Published: now, Since: now.Add(-5 * time.Hour), Hash: "abc",
	}}))
	r.shows("/jobs/report", []string{"<code>abc</code>, served since <time datetime=\"" + now.Add(-5*time.Hour).Format(time.RFC3339)}, []string{"published"})
	r.shows("/", []string{"Next, if ticks can start by then"}, nil)
	r.shows("/nodes?check=1", []string{"may be restarted, one node at a time"}, nil)
}

// A tick that did not run has a page as a run has, and every list links to it; a column
// without a heading does not exist.
func TestTicksWithoutARunAreLinked(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Control.Claims = heldNodes{} })
	at := time.Now().Add(-30 * time.Second).UTC().Truncate(time.Second)
	r.record(ledger.Entry{Job: "report", Tick: at, Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.TextReason("x")})
	page := "/runs/report@" + at.Format("20060102T150405.000Z")
	for path, least := range map[string]int{"/ticks": 1, "/jobs/report": 2, "/": 1} {
		text := string(r.ask(viewer, "GET", path, "").body)
		if n := strings.Count(text, `href="`+page+`"`); n < least {
			t.Errorf("%s links %d times to %s, want %d: %s", path, n, page, least, text)
		}
	}
	r.shows(page, []string{"missed"}, nil)
	for _, who := range []secret{viewer, admin} {
		if text := string(r.ask(who, "GET", "/locks", "").body); strings.Contains(text, "<th></th>") || strings.Contains(text, "<td></td></tr>") {
			t.Errorf("%s sees a column without a heading: %s", who.name, text)
		}
	}
}

// The zone that was chosen last holds for addresses without one. An unknown one is ignored.
func TestZoneIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	chosen := r.ask(viewer, "GET", "/replicas?tz=Asia%2FKolkata", "")
	set := chosen.header.Get("Set-Cookie")
	if !strings.HasPrefix(set, "quorate_tz=Asia%2FKolkata; Path=/; ") || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") {
		t.Errorf("the cookie is %q", set)
	}
	for cookie, want := range map[string]string{"Asia%2FKolkata": "Asia/Kolkata ·", "Mars": "UTC ·", "%zz": "UTC ·"} {
		for path, zone := range map[string]string{"/replicas": want, "/replicas?tz=utc": "UTC ·"} {
			a := r.ask(viewer, "GET", path, "", func(req *http.Request) { req.Header.Set("Cookie", "quorate_tz="+cookie) })
			if a.status != http.StatusOK || !strings.Contains(string(a.body), zone) {
				t.Errorf("%s with %s: %d, not in %s", path, cookie, a.status, zone)
			}
		}
	}
}
