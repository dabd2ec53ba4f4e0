package dashboard_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/roster"
)

// The page shows which replicas serve which version of a job, and since when.
func TestDriftOfVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	for _, one := range []roster.Replica{{ID: "b", ConfigHash: "c2", Seen: now}, {ID: "c", ConfigHash: "c1", Seen: now}} {
		_, err := r.roster.Beat(t.Context(), one)
		r.must(err)
	}
	version := func(hash, set, schedule string, since time.Duration) roster.JobInfo {
		return roster.JobInfo{Name: "invoice", Hash: hash, Schedule: schedule, Timezone: "UTC", Replica: "a", Published: now, ConfigHash: set, Since: now.Add(-since)}
	}
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{version("1", "c1", "@every 10m", time.Hour), version("2", "c2", "@every 5m", time.Minute)}))
	text := string(r.ask(viewer, "GET", "/configuration", "").body)
	for _, want := range []string{`@every 5m</td><td data-label="Served by">b</td>`, `@every 10m</td><td data-label="Served by">a and c</td>`, "1 min ago"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
}

// keep keeps a set of one job for the rig.
func (r *rig) keep(hash, job, version string, settings map[string]any) {
	r.Helper()
	packed, err := roster.PackJobs(1, slices.Values([]roster.JobText{{Name: job, Key: "invoice", Hash: version, Settings: settings}}))
	r.must(err)
	r.must(r.roster.KeepSet(r.Context(), hash, packed))
}

// The page shows which settings differ between two sets of jobs, as text: by default the
// two newest served sets, else those of the query.
func TestConfigurationDiff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	for _, one := range []roster.Replica{{ID: "b", ConfigHash: "c2", ConfigSince: now}, {ID: "a", ConfigHash: "c1", ConfigSince: now.Add(-time.Hour)}} {
		_, err := r.roster.Beat(t.Context(), one)
		r.must(err)
	}
	r.keep("c1", "invoice", "1", map[string]any{"schedule": "@every 10m", "params": map[string]any{"customer": "all", "copies": 1, "script": "set -e\ndump\n", "token": "***"}})
	page := func(path string) string { return string(r.ask(viewer, "GET", path, "").body) }
	if text := page("/configuration"); !strings.Contains(text, "the set of jobs &#34;c2&#34; was not found: it is not published yet") {
		t.Errorf("a set that is not known: %s", text)
	}
	r.keep("c2", hostile, "2", map[string]any{"schedule": "@every 10m", "params": map[string]any{"customer": hostile, "copies": 1, "script": "set -e\nsend\n", "token": "***"}})
	for path, wants := range map[string][]string{
		"/configuration": {
			"params.customer</code> from <del>all</del> to <ins>&#34;&lt;/script&gt;", "to <ins>&#34;set -e\\n\nsend\\n\n&#34;</ins>",
			`<option value="c1" selected>c1, on a</option>`, "formerly invoice",
		},
		"/configuration?from=c2&to=c1": {"from <del>&#34;&lt;/script&gt;", "to <ins>all</ins>"},
		"/configuration?from=c1&to=c1": {"None: both sets have the same jobs."},
		"/configuration?from=c9":       {"&#34;c9&#34; was not found", "c9, not served"},
		"/configuration?set=c1":        {"<h2 id=\"set\">Set of jobs <code>c1</code></h2>", "invoice:\n  params:\n    copies: 1\n    customer: all\n    script: |\n      set -e\n      dump\n    token: &#39;***&#39;\n  schedule: &#39;@every 10m&#39;\n  version: &#34;1&#34;"},
		"/configuration?set=c9":        {"&#34;c9&#34; was not found"},
	} {
		text := page(path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if strings.Contains(text, "<script>") {
			t.Errorf("%s has a script: %s", path, text)
		}
	}
	for path, want := range map[string]int{
		"/api/v1/configuration/diff?from=c1&to=c2": 200, "/api/v1/configuration/diff?from=c1": 400, "/api/v1/configuration/diff?from=c1&to=c9": 404,
		"/api/v1/configuration/sets/c1": 200, "/api/v1/configuration/sets/c9": 404,
	} {
		if a := r.ask(viewer, "GET", path, ""); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if a := r.ask(nobody, "GET", path, ""); a.status != 401 {
			t.Errorf("%s for nobody: %d", path, a.status)
		}
	}
	var c view.Comparison
	if err := json.Unmarshal(r.ask(viewer, "GET", "/api/v1/configuration/diff?from=c1&to=c2", "").body, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Changes) != 1 || len(c.Changes[0].Settings) != 2 || *c.Changes[0].Settings[0].From != "all" {
		t.Errorf("%+v", c)
	}
}
