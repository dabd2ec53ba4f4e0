package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// polled is a run of which much is known.
func polled(e ledger.Entry) ledger.Entry {
	beat := ledger.Beat{At: e.Started.Add(5 * time.Second), Left: 9 * time.Second, Took: time.Millisecond, Answers: [7]locking.Answer{'+', '+', 'u'}}
	bad := ledger.Beat{At: e.Started.Add(10 * time.Second), Left: 4 * time.Second, Failed: true, Answers: [7]locking.Answer{'+', 'u', 'u'}}
	e.Votes = locking.Votes{For: 2, Of: 3}
	e.Poll = locking.Poll{Rounds: 2, List: 1, Answers: [7]locking.Answer{'+', 'u', '+'}, Errors: hostile}
	e.Beats = &ledger.Beats{Count: 40, Failed: 1, Least: bad, Lapse: bad, Why: hostile, Last: []ledger.Beat{beat, bad}}
	return e
}

// A page of a run says what each node answered and how the lease was extended, while
// it goes on and afterwards, and never as anything but text.
func TestRunPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	e := r.run(at, ledger.Running)
	if page := r.page(e.ID()); !strings.Contains(page, "runs it and has the answers") || !strings.Contains(page, "No log yet") {
		t.Errorf("a run of another replica that has logged nothing: %s", page)
	}
	so := polled(e)
	r.must(r.ledger.Store(t.Context(), e.Job, jobs.History{}, ledger.Log{Job: e.Job, Tick: at, Token: e.Token, Text: hostile + "\n", At: at.Add(9 * time.Second), Run: so}))
	page := r.page(e.ID())
	for _, want := range []string{
		"won 2/3 votes in 2 rounds", "node 2 of a list that has changed since", "unreachable", "39 times, and 1 attempt failed", "the least validity left was 4.0 s",
		"The last 2 are shown.", "2 of 3 nodes, 9.0 s left", `<g class="good"><title>`, `<g class="bad"><title>`, "data-follow=", "Refresh", "alert(&#34;x&#34;)", "39 times; 1 attempt failed; the last attempt was at this time",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "ZgotmplZ") {
		t.Error("a text of others has become part of the page")
	}
	rows, _ := get[view.Tick](r, "/api/v1/runs/"+e.ID())
	if p, b := rows[0].Poll, rows[0].Beats; p == nil || *p.Rounds != 2 || p.Nodes[1].Answer != "unreachable" || p.Nodes[0].Node != nil || b == nil || b.Count != 40 || *b.Last[0].Granted != 2 || b.Lapse == nil {
		t.Errorf("the row: %+v, %+v", rows[0].Poll, rows[0].Beats)
	}
}

func (r *rig) page(id string) string {
	r.Helper()
	a := r.ask(viewer, "GET", "/runs/"+id, "")
	if a.status != http.StatusOK {
		r.Fatalf("%d: %s", a.status, a.body)
	}
	return string(a.body)
}

// Who follows a run reads what it logs, from where they stood, and how it ended.
func TestRunEvents(t *testing.T) {
	t.Parallel()
	var live ledger.Log
	var end func() // of the run, after three looks at it
	looks := 0
	r := newRig(t, func(c *setup) {
		c.Control.Live = func(job string, token locking.Token) (ledger.Log, bool) {
			if looks++; looks == 4 {
				end()
			}
			if job != "report" || token != live.Token || looks > 3 {
				return ledger.Log{}, false
			}
			live.Text += "line " + strings.Repeat("x", looks) + "\n"
			return live, true
		}
	})
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	lease, err := r.locks.TryAcquire(t.Context(), locking.Request{Name: "report", Tick: at, TTL: time.Minute, Holder: "a", Note: ledger.EncodeNote(ledger.Entry{
		Outcome: ledger.Running, Replica: "a", Started: at,
	})})
	r.must(err)
	e := ledger.Entry{Job: "report", Tick: at, Token: lease.Claim().Token, Outcome: ledger.Running, Started: at, Replica: "a"}
	live = ledger.Log{Job: "report", Tick: at, Token: e.Token, Text: "first\n", Run: polled(e)}
	end = func() {
		done := e
		done.Outcome, done.Finished, done.Reason = ledger.Succeeded, at.Add(time.Second), ledger.TextReason(hostile)
		r.must(lease.Release(context.Background(), ledger.EncodeNote(done)))
		r.must(r.ledger.Store(context.Background(), e.Job, jobs.History{}, ledger.Log{Job: e.Job, Tick: at, Token: e.Token, Text: "first\nline x\nline xx\nline xxx\nlast\n"}))
	}
	body := string(r.ask(viewer, "GET", "/api/v1/runs/"+e.ID()+"/events?after=6", "").body)
	for _, want := range []string{`"text":"line x\n"`, `"text":"line xx\n"`, "id: 13\n", `last\n"`, "event: beat\n", "event: finished\n", `"outcome":"succeeded"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the events lack %s:\n%s", want, body)
		}
	}
	if strings.Contains(body, "first") || strings.Contains(body, "<script>") || !strings.HasSuffix(body, "\n\n") || strings.Index(body, "finished") < strings.Index(body, "last") {
		t.Errorf("the events:\n%s", body)
	}
	if a := r.ask(viewer, "GET", "/api/v1/runs/"+e.ID()+"/events", "", func(req *http.Request) { req.Header.Set("Last-Event-ID", "34") }); strings.Contains(string(a.body), "line x\\n") || !strings.Contains(string(a.body), "event: finished") {
		t.Errorf("from the last event on:\n%s", a.body)
	}
	if a := r.ask(nobody, "GET", "/api/v1/runs/"+e.ID()+"/events", ""); a.status != http.StatusUnauthorized {
		t.Errorf("without a user: %d", a.status)
	}
	if a := r.ask(viewer, "GET", "/api/v1/runs/report@20000101T000000.000Z/events", ""); a.status != http.StatusNotFound {
		t.Errorf("of no run: %d", a.status)
	}
}

// The page of a run leads to the ticks before and after, and to the form that runs it again; that of a tick which did
// not run to a backfill of this tick alone.
func TestRunPageLeadsOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	list, _ := get[view.Run](r, "/api/v1/jobs/report/runs") // newest first
	at := time.Now().Add(-30 * time.Second).UTC().Truncate(time.Second)
	r.record(ledger.Entry{Job: "report", Tick: at, Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.TextReason("x")})
	missed := "report@" + at.Format("20060102T150405.000Z")
	ask := func(id string) string { return string(r.ask(operator, "GET", "/runs/"+id, "").body) }
	for id, wants := range map[string][]string{
		*list[2].ID: {`href="/runs/` + *list[1].ID + `">Next`, "Run again…", `href="/jobs/report/trigger?reason=again`},
		*list[1].ID: {`href="/runs/` + *list[2].ID + `">← Before`, `href="/runs/` + *list[0].ID + `">Next`},
		*list[0].ID: {`href="/runs/` + *list[1].ID + `">← Before`, `href="/runs/` + missed + `">Next`, "Course", "On a"},
		missed:      {`href="/runs/` + *list[0].ID + `">← Before`, "Run it…", "/jobs/report/backfill?from=" + url.QueryEscape(at.Format("2006-01-02T15:04:05")) + "&amp;to=" + url.QueryEscape(at.Add(time.Second).Format("2006-01-02T15:04:05"))},
	} {
		text := ask(id)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %s", id, want, text)
			}
		}
	}
	asked := ledger.Entry{Job: "report", Tick: at.Add(time.Second), Stream: "manual", Trigger: ledger.ByManual, Outcome: ledger.Missed, Reason: ledger.TextReason("x")}
	r.record(asked)
	if text := ask(asked.ID()); !strings.Contains(text, "/jobs/report/trigger?reason=again") || strings.Contains(text, "backfill?") {
		t.Errorf("who asked for a tick that was missed asks for another one: %s", text)
	}
	for n := range 100 { // more later ticks than one listing has
		r.record(ledger.Entry{Job: "report", Tick: at.Add(time.Duration(n+2) * 10 * time.Millisecond), Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.TextReason("x")})
	}
	if text, want := ask(*list[2].ID), `href="/runs/`+*list[1].ID+`">Next`; !strings.Contains(text, want) {
		t.Errorf("with very many later ticks the first run lacks %q: %s", want, text)
	}
	if text := ask(*list[2].ID); strings.Contains(text, "Before") {
		t.Errorf("before the first tick is another one: %s", text)
	}
	if text := ask(missed); strings.Contains(text, "Course") {
		t.Errorf("after the last tick is another one, or it has a course: %s", text)
	}
}

// The log of a run that has ended is shown in columns, or as it was written.
func TestLogInColumns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	list, _ := get[view.Run](r, "/api/v1/jobs/report/runs")
	r.must(r.ledger.Store(t.Context(), "report", jobs.History{}, ledger.Log{
		Job: "report", Tick: view.Time(&list[0].Tick), Token: *list[0].Token, Text: "time=" + list[0].Tick + " level=WARN msg=\"low on <b>disk\" free=3\n",
	}))
	r.shows("/runs/"+*list[0].ID, []string{`<tr class="WARN"><td>&#43;0.000 s</td><td>WARN</td><td>low on &lt;b&gt;disk <small>free=3</small></td></tr>`, "?log=raw"}, nil)
	r.shows("/runs/"+*list[0].ID+"?log=raw", []string{`msg=&#34;low on`, ">in columns<"}, nil)
}
