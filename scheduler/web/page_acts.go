package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A field is one that a form asks for, and the API takes under the same name.
type field struct {
	Name, Label, Help string
	Kind              string // text, json, time, number, bool
	Needed            bool
}

// A form asks for an act.
type form struct {
	path   string // of the page, and below prefix of the route that does it
	Verb   string
	About  string // what it does
	Danger bool
	Fields []field
}

// forms lists what can be asked for by a page.
func forms() []form {
	why := field{Name: "reason", Label: "Reason", Help: "Everybody sees it in the audit log.", Kind: "text", Needed: true}
	within := field{Name: "within", Label: "Within", Help: "How long it may wait before it begins, such as 30m.", Kind: "text"}
	return []form{
		{path: "/jobs/{job}/trigger", Verb: "Trigger", About: "Runs the job once, now, on one of the replicas.", Fields: []field{
			why,
			{Name: "params", Label: "Params", Help: "A JSON object; goes before the params of the configuration, key by key.", Kind: "json"},
			within,
		}},
		{path: "/jobs/{job}/pause", Verb: "Pause", About: "Skips the ticks of the job until it is resumed.", Fields: []field{why}},
		{path: "/jobs/{job}/resume", Verb: "Resume", About: "Ends the pause of the job.", Fields: []field{why}},
		{path: "/jobs/{job}/backfill", Verb: "Backfill", About: "Runs the job for each of its ticks in a range of the past. The ticks are listed first.", Fields: []field{
			why,
			{Name: "from", Label: "From (UTC)", Kind: "time", Needed: true},
			{Name: "to", Label: "To (UTC)", Help: "The range ends before it.", Kind: "time", Needed: true},
			within,
			{Name: "concurrency", Label: "At once", Help: "How many runs may go on at once, of a job with overlap: allow.", Kind: "number"},
		}},
		{path: "/jobs/{job}/cancel", Verb: "Cancel", Danger: true, About: "Ends the runs of the job that go on, or one of them.", Fields: []field{
			why,
			{Name: "run", Label: "Only the run", Help: "Its id; empty: all that go on.", Kind: "text"},
			{Name: "waiting", Label: "Also withdraw triggers and backfills that are not done", Kind: "bool"},
		}},
		{path: "/pause", Verb: "Pause", Danger: true, About: "Skips the ticks of all jobs with a tag, or of all jobs, until they are resumed.", Fields: targetFields(why)},
		{path: "/resume", Verb: "Resume", About: "Ends the pause of a tag, of all jobs, or the one with an id.", Fields: append(targetFields(why),
			field{Name: "id", Label: "The pause with the id", Help: "As quorate pauses and the audit log have it.", Kind: "text"})},
		{path: "/locks/{job}/release", Verb: "Release", Danger: true, About: "Takes the lock away from its holder by force. A run that goes on loses its lease, and its writes are refused where a guard stands.", Fields: []field{
			why,
			{Name: "confirm", Label: "Name of the lock, once more", Kind: "text", Needed: true},
			{Name: "token", Label: "Token", Help: "Of the run that is meant, where several run beside one another.", Kind: "number"},
		}},
	}
}

func targetFields(why field) []field {
	return []field{why, {Name: "tag", Label: "All jobs with the tag", Kind: "text"}, {Name: "all", Label: "All jobs of the namespace", Kind: "bool"}}
}

// actPage is a form that is filled in, or was not filled in well.
type actPage struct {
	form
	Job     string
	Values  url.Values
	Wrong   string // with what was filled in
	Needs   string // the role, if who visits has less
	Planned []string
	Key     string // so that sending twice asks once
	To      string // where the form goes
}

func (p *pages) routeActs(mux *http.ServeMux) {
	for _, f := range forms() {
		var rt route
		for _, one := range p.api {
			if one.path == f.path && one.method == http.MethodPost {
				rt = one
			}
		}
		s := sheet{path: f.path, name: "act", under: "/jobs", title: f.Verb}
		mux.HandleFunc("GET "+f.path, func(w http.ResponseWriter, r *http.Request) { p.serveForm(w, r, s, f, rt) })
		mux.HandleFunc("POST "+f.path, func(w http.ResponseWriter, r *http.Request) { p.serveAct(w, r, s, f, rt) })
	}
}

// serveForm shows an empty form, or one filled in by the query.
func (p *pages) serveForm(w http.ResponseWriter, r *http.Request, s sheet, f form, rt route) {
	v, wrong := p.enter(r, s)
	if wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	v.showForm(f, rt, v.query)
	p.write(w, v, http.StatusOK)
}

func (v *visit) showForm(f form, rt route, values url.Values) *actPage {
	shown := &actPage{form: f, Job: v.r.PathValue("job"), Values: values, Key: rand.Text(), To: v.cfg.BasePath + v.r.URL.EscapedPath()}
	if key := values.Get("key"); key != "" {
		shown.Key = key
	}
	if !v.ID.Role.Allows(rt.role) {
		shown.Needs = string(rt.role)
	}
	v.Title = strings.TrimSpace(f.Verb + " " + shown.Job)
	v.Data = shown
	return shown
}

// serveAct does what a form asks for as the API does it, and refuses what that
// refuses.
func (p *pages) serveAct(w http.ResponseWriter, r *http.Request, s sheet, f form, rt route) {
	ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	formErr := r.ParseForm()
	v := p.visit(r, s)
	filled := r.PostForm
	text := f.json(filled)
	asked := r.Clone(ctx)
	asked.URL.RawQuery = ""
	asked.Header.Set("Content-Type", "application/json")
	asked.Header.Set("Idempotency-Key", filled.Get("key"))
	asked.Body = io.NopCloser(bytes.NewReader(text))
	id, wrong := p.admit(asked, rt)
	if v.ID = id; wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	shown := v.showForm(f, rt, filled)
	if formErr != nil {
		wrong = badRequest("the form cannot be read")
	}
	c := &call{Server: p.Server, route: rt, r: asked, id: id}
	var answer any
	if wrong == nil {
		wrong = c.parse()
	}
	if wrong == nil {
		var err error
		if answer, err = rt.answer(ctx, c); err != nil {
			wrong = p.explain(asked, err)
		}
	}
	if wrong != nil {
		if shown.Wrong = wrong.Detail; wrong.Code == codeReused {
			shown.Wrong, shown.Key = "This form was sent before, and was used for another act. Send it again to ask for this one.", rand.Text()
		}
		p.write(w, v, wrong.Status)
		return
	}
	if plan, ok := answer.(planned); ok && !plan.Asked {
		shown.Planned = plan.Ticks
		p.write(w, v, http.StatusOK)
		return
	}
	http.Redirect(w, r, p.after(rt, shown.Job), http.StatusSeeOther)
}

// after is where one sees what an act does.
func (p *pages) after(rt route, job string) string {
	path := "/jobs"
	switch {
	case rt.kind == scheduler.ActRelease:
		path = "/locks"
	case job != "":
		path = "/jobs/" + url.PathEscape(job)
	}
	return p.cfg.BasePath + path + "?done=" + string(rt.kind)
}

// json is what is filled in as the API takes it. What is no number or no JSON goes
// on as text, so that the API says what is wrong with it.
func (f form) json(filled url.Values) []byte {
	body := map[string]any{}
	for _, one := range f.Fields {
		text := strings.TrimSpace(filled.Get(one.Name))
		if text != "" {
			body[one.Name] = one.value(text)
		}
	}
	if filled.Get("dry_run") != "" {
		body["dry_run"] = true
	}
	text, _ := json.Marshal(body) // of texts, numbers and JSON that was checked
	return text
}

func (f field) value(text string) any {
	switch f.Kind {
	case "bool":
		return true
	case "number":
		if n, err := strconv.ParseUint(text, 10, 53); err == nil {
			return n
		}
	case "json":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case "time": // as browsers write it, to the minute or the second
		if len(text) == len("2006-01-02T15:04") {
			text += ":00"
		}
		return strings.TrimSuffix(text, "Z") + "Z"
	}
	return text
}

// doneText says what was asked for just before.
func doneText(kind string) string {
	return map[string]string{
		string(scheduler.ActTrigger):  "Triggered: one of the replicas runs it in a moment.",
		string(scheduler.ActPause):    "Paused: its ticks are skipped until it is resumed.",
		string(scheduler.ActResume):   "Resumed: its ticks run again.",
		string(scheduler.ActBackfill): "Backfill asked for: its runs begin in a moment.",
		string(scheduler.ActCancel):   "Asked the runs to end.",
		string(scheduler.ActRelease):  "The lock was taken from its holder.",
	}[kind]
}
