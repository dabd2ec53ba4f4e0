package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Pages say that jitter delays a job, and by how much the next tick.
func TestJitterIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "slow", Schedule: "@every 24h", Definition: `{"spec":"@every 24h"}`, Timezone: "UTC", Replica: "a", Published: time.Now(), ConfigHash: "c1", Jitter: 10 * time.Hour,
	}}))
	for path, wants := range map[string][]string{
		"/jobs":        {"starts at <time", "(jitter)"},
		"/jobs/slow":   {"each tick starts up to 10 h after its time", " later (jitter)"},
		"/jobs/report": nil,
	} {
		text := string(r.ask(viewer, "GET", path, "").body)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if wants == nil && strings.Contains(text, "itter") {
			t.Errorf("%s speaks of jitter: %s", path, text)
		}
	}
}

// Jobs are chosen by what is the matter with them, with their number; rows are in the order that was asked for.
func TestJobsAreChosen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "azure", Schedule: "0 3 29 2 *", Definition: `{"spec":"0 3 29 2 *"}`, Timezone: "UTC", Replica: "a", Published: time.Now(), ConfigHash: "c1",
	}}))
	names := func(query string) string {
		t.Helper()
		var list []string
		for _, m := range regexp.MustCompile(`<tr id="row-([^"]*)"`).FindAllStringSubmatch(string(r.ask(viewer, "GET", "/jobs"+query, "").body), -1) {
			list = append(list, m[1])
		}
		return strings.Join(list, " ")
	}
	for query, want := range map[string]string{
		"": "azure report sweep", "?show=failing": "report", "?show=paused": "report sweep", "?show=new": "azure", "?show=running": "", "?q=FINANCE": "report sweep",
		"?show=failing&q=azure": "", "?sort=trouble": "report sweep azure", "?sort=last": "sweep report azure", "?sort=next": "report sweep azure", "?sort=slower": "azure report sweep", "?first=2": "sweep",
	} {
		if got := names(query); got != want {
			t.Errorf("/jobs%s lists %q, want %q", query, got, want)
		}
	}
	r.shows("/jobs", []string{">all 3<", ">not succeeding 1<", ">paused 2<", ">without a tick 1<", "0 3 29 2 *"}, []string{"running 0", "not served 0"})
	for _, query := range []string{"?show=odd", "?sort=odd", "?first=-1", "?sort=slower&first=1"} {
		if a := r.ask(viewer, "GET", "/jobs"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("/jobs%s: %d", query, a.status)
		}
	}
	r.run(time.Now().Truncate(time.Second), ledger.Running)
	if got := names("?show=running"); got != "report" {
		t.Errorf("%q run, want report", got)
	}
}

// The page of a job says how it is, what its policies are, and lists what did not succeed.
func TestJobPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "invoice", Schedule: "@every 10m", Definition: `{"spec":"@every 10m"}`, Timezone: "UTC", Replica: "b", Published: time.Now(), ConfigHash: "c2", Hash: "h1",
	}}))
	_, err := r.roster.Beat(t.Context(), roster.Replica{ID: "b", State: "ready", ConfigHash: "c2", Started: time.Now()})
	r.must(err)
	r.keep("c2", "invoice", "h1", map[string]any{"timeout": "30m", "overlap": "queue", "on_crash": "rerun", "retry": map[string]any{"attempts": 1}})
	r.shows("/jobs/invoice", []string{"It has not run yet.", "<dt>A tick during a run</dt><dd>waits for its end</dd>", "<dd>is repeated elsewhere</dd>", "The job has no ticks yet."}, []string{"<svg class=\"chart\""})
	r.shows("/jobs/report", []string{"The last tick: failed · ", "3 in a row · no success in the ledger", "Its ticks are skipped: paused: tag finance", "not succeeded 3", "<svg class=\"chart\"", "Not known yet."}, nil)
	r.shows("/jobs/sweep?show=trouble", []string{"latest 1", "not succeeded 0", "None."}, nil)
}

// Last night ends at eight, and today begins at midnight.
func TestRunsOfLastNight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t) // at midnight; three runs before it
		time.Sleep(12 * time.Hour)
		noon := r.run(time.Now().Truncate(time.Second), ledger.Succeeded)
		count := func(query string) int {
			return strings.Count(string(r.ask(viewer, "GET", "/ticks?job=report"+query, "").body), "<tr><td data-label=\"Tick\">")
		}
		for query, want := range map[string]int{"": 4, "&when=night": 3, "&when=today": 1, "&when=24h": 4, "&when=7d": 4, "&when=night&outcome=succeeded": 0} {
			if got := count(query); got != want {
				t.Errorf("%q lists %d ticks, want %d, with %s", query, got, want, noon.ID())
			}
		}
		if a := r.ask(viewer, "GET", "/ticks?when=tomorrow", ""); a.status != http.StatusBadRequest {
			t.Errorf("an unknown time: %d", a.status)
		}
	})
}

// A run can be cancelled from the page of its job, also if more ticks were skipped since than the page lists.
func TestCancelOfALongRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(time.Now().Add(-2*time.Minute).Truncate(time.Second), ledger.Running)
	for n := range 60 {
		r.record(ledger.Entry{Job: "report", Tick: time.Now().Add(time.Duration(n-60) * time.Second).Truncate(time.Second), Trigger: ledger.BySchedule, Outcome: ledger.Skipped})
	}
	if text := string(r.ask(operator, "GET", "/jobs/report", "").body); !strings.Contains(text, `href="/jobs/report/cancel"`) || !strings.Contains(text, "It runs on a for 2 min") || !strings.Contains(text, "Its ticks are skipped: paused") {
		t.Errorf("it cannot be cancelled: %s", text)
	}
	if text := string(r.ask(operator, "GET", "/jobs/sweep", "").body); strings.Contains(text, `href="/jobs/sweep/cancel"`) {
		t.Errorf("what does not run can be cancelled: %s", text)
	}
}

// The page of a job says when the last failure was whose record has been dropped.
func TestDroppedFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 3 {
		r.run(time.Now().Add(time.Duration(n-5)*time.Minute).Truncate(time.Second), ledger.Succeeded)
	}
	const text = "The newest failure whose record was dropped: <time"
	r.shows("/jobs/report", []string{"not succeeded 3"}, []string{text})
	r.must(r.ledger.Store(t.Context(), "report", jobs.History{Keep: 2}))
	r.shows("/jobs/report", []string{"not succeeded 0", text}, nil)
}
