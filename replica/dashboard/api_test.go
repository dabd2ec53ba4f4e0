package dashboard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A document is the OpenAPI document of the API, as far as the tests read it.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]*jsonschema.Schema }

	resolved map[string]*jsonschema.Resolved
}

type operation struct {
	OperationID string
	Role        identity.Role `json:"x-role"`
	Parameters  []struct {
		Name, In string
		Schema   *jsonschema.Schema
		Style    string
	}
	RequestBody struct{ Content map[string]media }
	Responses   map[string]struct{ Content map[string]media }
}

type media struct{ Schema *jsonschema.Schema }

func readDocument(tb testing.TB, r *rig) document {
	tb.Helper()
	a := r.ask(nobody, "GET", "/api/v1/openapi.json", "")
	doc := document{resolved: map[string]*jsonschema.Resolved{}}
	if err := json.Unmarshal(a.body, &doc); err != nil || a.status != http.StatusOK {
		tb.Fatalf("the document: %d, %v", a.status, err)
	}
	if doc.OpenAPI != "3.1.0" || len(doc.Paths) < 20 {
		tb.Fatalf("the document: %s with %d paths", doc.OpenAPI, len(doc.Paths))
	}
	return doc
}

// schema resolves what a media type refers to.
func (d document) schema(tb testing.TB, m media) *jsonschema.Schema {
	tb.Helper()
	s := m.Schema
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = d.Components.Schemas[name]
	}
	if s == nil {
		tb.Fatalf("there is no schema %s", m.Schema.Ref)
	}
	return s
}

// matches says whether an answer is one of those that the document describes.
func (d document) matches(tb testing.TB, op operation, a answer) error {
	tb.Helper()
	response, ok := op.Responses[fmt.Sprint(a.status)]
	kind := a.header.Get("Content-Type")
	m, described := response.Content[kind]
	if !ok || !described {
		return fmt.Errorf("an answer %d of type %s is not described: %s", a.status, kind, a.body)
	}
	resolved := d.resolved[m.Schema.Ref]
	if resolved == nil {
		var err error
		if resolved, err = d.schema(tb, m).Resolve(nil); err != nil {
			tb.Fatal(err)
		}
		d.resolved[m.Schema.Ref] = resolved
	}
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		return fmt.Errorf("%w: %s", err, a.body)
	}
	if err := resolved.Validate(v); err != nil {
		return fmt.Errorf("%w: %s", err, a.body)
	}
	return nil
}

// The API does what its document says, whatever it is asked, and never fails.
func TestAPIAsDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	doc := readDocument(t, r)
	type asked struct {
		path, method string
		op           operation
	}
	var all []asked
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if !strings.HasSuffix(path, "/events") {
				all = append(all, asked{path, strings.ToUpper(method), op})
			}
		}
	}
	slices.SortFunc(all, func(x, y asked) int { return strings.Compare(x.path+x.method, y.path+y.method) })
	done := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			one := all[rapid.IntRange(0, len(all)-1).Draw(rt, "operation")]
			g := gen{rt}
			path, query, body := one.path, url.Values{}, ""
			for _, p := range one.op.Parameters {
				switch {
				case p.In == "path":
					path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(g.name()))
				case p.In == "query" && rapid.Bool().Draw(rt, p.Name):
					query.Set(p.Name, g.param(p.Schema))
				}
			}
			if rapid.IntRange(0, 30).Draw(rt, "odd") == 30 {
				query.Set(g.name(), "x")
			}
			if m, ok := one.op.RequestBody.Content["application/json"]; ok {
				text, err := json.Marshal(g.value(doc.schema(t, m)))
				if err != nil {
					rt.Fatal(err)
				}
				body = string(text)
			}
			a := r.ask(admin, one.method, path+"?"+query.Encode(), body)
			if a.status >= http.StatusInternalServerError {
				rt.Errorf("%s %s?%s %s: %d %s", one.method, path, query.Encode(), body, a.status, a.body)
			}
			if err := doc.matches(t, one.op, a); err != nil {
				rt.Errorf("%s %s?%s %s: %v", one.method, path, query.Encode(), body, err)
			}
			if bytes.Contains(a.body, []byte("<script")) {
				rt.Errorf("%s %s answers with what a browser may take for a script: %s", one.method, path, a.body)
			}
			if a.status == http.StatusOK {
				done[one.op.OperationID] = true
			}
		}
	})
	if len(done) < len(all)/2 {
		t.Errorf("only %d of %d operations were ever done: %v", len(done), len(all), done)
	}
}

// gen makes values for schemas, most of them valid.
type gen struct{ *rapid.T }

func (g gen) name() string {
	return rapid.SampledFrom([]string{"report", "report", "report", "report", "sweep", "nosuch", hostile, "..x", "%00", "report@20270101T020000.000Z", "a@b"}).Draw(g.T, "name")
}

func (g gen) param(s *jsonschema.Schema) string {
	if s.Items != nil {
		return g.param(s.Items)
	}
	if rapid.IntRange(0, 9).Draw(g.T, "wrong") == 9 {
		return rapid.String().Draw(g.T, "text")
	}
	return fmt.Sprint(g.value(s))
}

// value is one that fits the schema, seldom not.
func (g gen) value(s *jsonschema.Schema) any {
	kind := s.Type
	if kind == "" && len(s.Types) > 0 {
		kind = rapid.SampledFrom(s.Types).Draw(g.T, "type")
	}
	if rapid.IntRange(0, 60).Draw(g.T, "odd") == 60 {
		kind = rapid.SampledFrom([]string{"string", "integer", "object", "null", "boolean"}).Draw(g.T, "type")
	}
	switch {
	case len(s.Enum) > 0 && kind != "null":
		return rapid.SampledFrom(s.Enum).Draw(g.T, "enum")
	case kind == "integer":
		return rapid.SampledFrom([]int64{0, 1, 2, 50, 1000, 1001, -1, math.MaxInt32, 1883434212261889}).Draw(g.T, "integer")
	case kind == "boolean":
		return rapid.Bool().Draw(g.T, "bool")
	case kind == "object":
		return g.object(s)
	case kind == "null":
		return nil
	case s.Format == "date-time":
		return rapid.SampledFrom([]string{"2026-01-01T00:00:00Z", "2026-11-20T05:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"}).Draw(g.T, "time")
	case s.Pattern != "":
		return rapid.SampledFrom([]string{"1h", "90s", "1ms", "1h30m"}).Draw(g.T, "duration")
	}
	return rapid.SampledFrom([]string{"report", "so", "", hostile, "finance", strings.Repeat("x", 2000)}).Draw(g.T, "text")
}

func (g gen) object(s *jsonschema.Schema) map[string]any {
	all := map[string]any{}
	for _, name := range slices.Sorted(keys(s.Properties)) {
		if slices.Contains(s.Required, name) || rapid.Bool().Draw(g.T, name) {
			all[name] = g.value(s.Properties[name])
		}
	}
	if s.Properties == nil {
		all["customer"] = "acme"
	}
	return all
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Every page leads to the next one, and none has more rows than asked for.
func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/api/v1/runs", "/api/v1/ticks", "/api/v1/jobs/report/runs", "/api/v1/jobs", "/api/v1/jobs/report/ticks"} {
		whole, next := pagesOf(r, path+"?limit=1000")
		if next != 1 || len(whole) < 2 {
			t.Fatalf("%s: %d pages, %v", path, next, whole)
		}
		if parts, n := pagesOf(r, path+"?limit=1"); !slices.Equal(parts, whole) || n > len(whole)+1 { // the last one may be empty
			t.Errorf("%s in pages of one: %v, want %v", path, parts, whole)
		}
	}
	if rows, _ := get[view.Run](r, "/api/v1/runs?outcome=succeeded"); len(rows) != 0 {
		t.Errorf("a filter: %+v", rows)
	}
	if a := r.ask(viewer, "GET", "/api/v1/runs?cursor=x", ""); a.status != http.StatusBadRequest {
		t.Errorf("a bad cursor: %d %s", a.status, a.body)
	}
}

// pagesOf follows a listing to its end.
func pagesOf(r *rig, path string) (ids []string, pages int) {
	r.Helper()
	for at := path; ; {
		rows, next := get[struct{ Job, Tick string }](r, at)
		for _, row := range rows {
			ids = append(ids, row.Job+row.Tick)
		}
		if pages++; next == "" || pages > 20 {
			return ids, pages
		}
		at = path + "&cursor=" + url.QueryEscape(next)
	}
}

// A run is found by its id, with its attempts and its log.
func TestRunAndLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rows, _ := get[view.Run](r, "/api/v1/runs?limit=1")
	id := url.PathEscape(*rows[0].ID)
	if run, _ := get[view.Tick](r, "/api/v1/runs/"+id); len(run) != 1 || *run[0].Token != *rows[0].Token || run[0].Error == nil || *run[0].Error != hostile {
		t.Errorf("the run: %+v", run)
	}
	a := r.ask(viewer, "GET", "/api/v1/runs/"+id+"/log", "")
	var log view.Log
	if err := json.Unmarshal(a.body, &log); err != nil || log.Text != hostile || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the log: %s, %v", a.body, err)
	}
	for path, want := range map[string]int{
		"/api/v1/runs/report@20270101T020000.000Z": http.StatusNotFound, "/api/v1/runs/nosuch@20270101T020000.000Z": http.StatusNotFound,
		"/api/v1/runs/x": http.StatusBadRequest, "/api/v1/runs/x/log": http.StatusBadRequest, "/api/v1/jobs/nosuch": http.StatusNotFound,
		"/api/v1/nosuch": http.StatusNotFound, "/api/v1/jobs?nosuch=1": http.StatusBadRequest, "/api/v1/jobs?limit=0": http.StatusBadRequest,
		"/api/v1/jobs/report/trigger": http.StatusMethodNotAllowed,
	} {
		if a := r.ask(viewer, "GET", path, ""); a.status != want || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// A job shows why it does not run, what is to come, and what was asked of it.
func TestJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so", "params": {"n": 12345678901234567}}`)
	a := r.ask(viewer, "GET", "/api/v1/jobs/report", "")
	var job struct {
		Versions []view.Job
		Next     []view.Next
		Open     []view.Command
	}
	if err := json.Unmarshal(a.body, &job); err != nil || len(job.Versions) != 1 || job.Versions[0].Paused == nil || len(job.Next) != 10 || len(job.Open) != 2 {
		t.Fatalf("%d %s, %v", a.status, a.body, err)
	}
	if got := string(job.Open[1].Params); got != `{"n":12345678901234567}` {
		t.Errorf("params are %s", got)
	}
	rows, _ := get[view.Job](r, "/api/v1/jobs?q=FINANCE&limit=1")
	if len(rows) != 1 || rows[0].Paused == nil || *rows[0].LastOutcome != ledger.Failed {
		t.Errorf("%+v", rows)
	}
}

// The same key asks once.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "deploy-17") }
	first := r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`, key)
	again := r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`, key)
	if first.status != http.StatusOK || !bytes.Equal(first.body, again.body) {
		t.Errorf("%s, then %s", first.body, again.body)
	}
}

// A lock is taken away only by who writes its name.
func TestReleaseIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, want := range map[string]int{
		`{"reason": "so", "confirm": "repor"}`:  http.StatusBadRequest,
		`{"reason": "so"}`:                      http.StatusBadRequest,
		`{"reason": "", "confirm": "report"}`:   http.StatusBadRequest,
		`{"reason": "so", "confirm": "report"}`: http.StatusOK,
	} {
		if a := r.ask(admin, "POST", "/api/v1/locks/report/release", body); a.status != want {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if len(r.evicted) != 1 {
		t.Errorf("evicted: %v", r.evicted)
	}
	if a := r.ask(admin, "POST", "/api/v1/locks/sweep/release", `{"reason": "so", "confirm": "sweep"}`); a.status != http.StatusNotFound {
		t.Errorf("a lock that nobody holds: %d %s", a.status, a.body)
	}
}

// Who follows the events sees a run end, and a command; those who are too many are
// told so; and the end of the server is the end of the events.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Listeners = 1 })
	lines := listen(t, r)
	<-lines // it listens
	if a := r.ask(viewer, "GET", "/api/v1/events", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d %s", a.status, a.body)
	}
	if a := r.ask(nobody, "GET", "/api/v1/events", ""); a.status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", a.status, a.body)
	}
	wantEvent(t, lines, "event: act", func() { r.ask(operator, "POST", "/api/v1/jobs/sweep/trigger", `{"reason": "so"}`) })
	n := 0
	wantEvent(t, lines, "event: run", func() {
		n++
		r.run(time.Now().Add(time.Duration(n)*time.Millisecond).Truncate(time.Millisecond), ledger.Succeeded)
	})
	r.Close()
	for {
		if _, open := <-lines; !open {
			return
		}
	}
}

// A missed tick has no run: who looks for it among the runs learns where it is.
func TestMissedAreNotAmongRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/api/v1/runs?outcome=missed", "/api/v1/jobs/report/runs?outcome=failed&outcome=missed"} {
		if a := r.ask(viewer, "GET", path, ""); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "GET /ticks?outcome=missed") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
