package pages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/scheduler/commands"
)

// A field of a form is a field of the API with the same name.
type field struct {
	Name, Label, Help string
	Kind              string // text, json, time, number, bool
	Needed            bool
}

// A form requests a command.
type form struct {
	path   string // of the page, and of the API's route
	route  api.Action
	Verb   string
	About  string // what it does
	Danger bool
	Fields []field
}

// forms lists all forms.
func forms() []form {
	why := field{Name: "reason", Label: "Reason", Help: "Everyone can read it in the audit log.", Kind: "text", Needed: true}
	within := field{Name: "within", Label: "Within", Help: "How long it may wait for its start, such as 30m.", Kind: "text"}
	ends := []field{
		{Name: "for", Label: "For", Help: "How long it lasts, such as 2h.", Kind: "text"},
		{Name: "until", Label: "Or until (UTC)", Help: "Empty both: until it is resumed.", Kind: "time"},
	}
	return []form{
		{path: "/jobs/{job}/trigger", Verb: "Trigger", About: "Runs the job once, now, on one of the replicas.", Fields: []field{
			why,
			{Name: "params", Label: "Params", Help: "A JSON object; overrides the configured params, key by key.", Kind: "json"},
			within,
		}},
		{path: "/jobs/{job}/pause", Verb: "Pause", About: "Skips the ticks of the job until it is resumed, or for some time.", Fields: append([]field{why}, ends...)},
		{path: "/jobs/{job}/resume", Verb: "Resume", About: "Ends the pause of the job.", Fields: []field{why}},
		{path: "/jobs/{job}/backfill", Verb: "Backfill", About: "Runs the job for each of its ticks in a past range of time. Lists the ticks first.", Fields: []field{
			why,
			{Name: "from", Label: "From (UTC)", Kind: "time", Needed: true},
			{Name: "to", Label: "To (UTC)", Help: "Excluded.", Kind: "time", Needed: true},
			within,
			{Name: "concurrency", Label: "At once", Help: "How many runs of a job with overlap: allow may run at once.", Kind: "number"},
		}},
		{path: "/jobs/{job}/cancel", Verb: "Cancel", Danger: true, About: "Cancels the running runs of the job, or one of them.", Fields: []field{
			why,
			{Name: "run", Label: "Only the run", Help: "A run ID; empty: all running runs.", Kind: "text"},
			{Name: "waiting", Label: "Also withdraw pending triggers and backfills", Kind: "bool"},
		}},
		{path: "/pause", Verb: "Pause", Danger: true, About: "Skips the ticks of all jobs with a tag, or of all jobs, until they are resumed, or for some time.", Fields: append(targetFields(why), ends...)},
		{path: "/resume", Verb: "Resume", About: "Ends the pause of a tag, of all jobs, or the one with an ID.", Fields: append(targetFields(why),
			field{Name: "id", Label: "The pause with the ID", Help: "From quorate pauses or the audit log.", Kind: "text"})},
		{path: "/locks/{job}/release", Verb: "Release", Danger: true, About: "Takes the lock from its holder by force. Its run loses the lease, and guards refuse its writes.", Fields: []field{
			why,
			{Name: "confirm", Label: "Name of the lock, again", Kind: "text", Needed: true},
			{Name: "token", Label: "Token", Help: "Of the run, if several overlap.", Kind: "number"},
		}},
	}
}

func targetFields(why field) []field {
	return []field{why, {Name: "tag", Label: "All jobs with the tag", Kind: "text"}, {Name: "all", Label: "All jobs of the namespace", Kind: "bool"}}
}

// commandPage is a form to fill in or to correct.
type commandPage struct {
	form
	Job     string
	Values  url.Values
	Wrong   string // a mistake in the values
	Needs   string // the role that the user lacks
	Planned []string
	Key     string // Idempotency-Key
	To      string // address of the form
}

func (p *Pages) routeCommands(mux *http.ServeMux) {
	for _, f := range forms() {
		f.route = p.api.Action(f.path)
		mux.HandleFunc("GET "+f.path, func(w http.ResponseWriter, r *http.Request) { p.serveForm(w, r, f) })
		mux.HandleFunc("POST "+f.path, func(w http.ResponseWriter, r *http.Request) { p.serveCommand(w, r, f) })
	}
}

func (f form) page() page {
	return page{path: f.path, name: "command", under: "/jobs", title: f.Verb}
}

// PlannedText counts the planned ticks.
func (a *commandPage) PlannedText() string { return view.Count(len(a.Planned), "tick", "ticks") }

// serveForm shows a form with the values of the query.
func (p *Pages) serveForm(w http.ResponseWriter, r *http.Request, f form) {
	v, wrong := p.admit(r, f.page())
	if wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	f.show(v, v.query)
	p.render(w, v, http.StatusOK)
}

// show makes the page one of the form with these values.
func (f form) show(v *visit, values url.Values) *commandPage {
	shown := &commandPage{form: f, Job: v.r.PathValue("job"), Values: values, Key: cmp.Or(values.Get("key"), rand.Text()), To: v.Base + v.url.EscapedPath()}
	if !v.ID.Role.Allows(f.route.Role) {
		shown.Needs = string(f.route.Role)
	}
	v.Title = strings.TrimSpace(f.Verb + " " + shown.Job)
	v.Data = shown
	return shown
}

// serveCommand passes a form to the API.
func (p *Pages) serveCommand(w http.ResponseWriter, r *http.Request, f form) {
	ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBody)
	formErr := r.ParseForm()
	v := p.newVisit(r, f.page())
	filled := r.PostForm
	apiRequest := r.Clone(ctx)
	apiRequest.URL.RawQuery = ""
	apiRequest.Header.Set("Content-Type", "application/json")
	apiRequest.Header.Set("Idempotency-Key", filled.Get("key"))
	apiRequest.Body = io.NopCloser(bytes.NewReader(f.json(filled)))
	id, wrong := p.gate.Admit(apiRequest, f.route.Role, f.route.Kind)
	if v.ID = id; wrong != nil {
		p.refuse(w, v, wrong)
		return
	}
	shown := f.show(v, filled)
	if formErr != nil {
		wrong = problem.BadRequest("the form cannot be read")
	}
	var answer any
	if wrong == nil {
		answer, wrong = f.route.Do(ctx, apiRequest, id)
	}
	if wrong != nil {
		if shown.Wrong = wrong.Detail; wrong.Code == problem.CodeReused {
			shown.Wrong, shown.Key = "This form was already sent for another command. Send it again to request this one.", rand.Text()
		}
		p.render(w, v, wrong.Status)
		return
	}
	if plan, ok := answer.(api.Planned); ok && !plan.Asked {
		shown.Planned = plan.Ticks
		p.render(w, v, http.StatusOK)
		return
	}
	http.Redirect(w, r, p.pathAfter(f.route.Kind, shown.Job), http.StatusSeeOther)
}

// pathAfter is the page that shows the effect of a command.
func (p *Pages) pathAfter(kind commands.Kind, job string) string {
	path := "/jobs"
	switch {
	case kind == commands.Release:
		path = "/locks"
	case job != "":
		path = "/jobs/" + url.PathEscape(job)
	}
	return p.cfg.BasePath + path + "?done=" + string(kind)
}

// json converts a form to a body of the API. Invalid numbers and invalid JSON become text,
// which the API refuses with a reason.
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
	text, _ := plainjson.Marshal(body) // texts, numbers and checked JSON
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
	case "time": // browsers may leave out the seconds
		if len(text) == len("2006-01-02T15:04") {
			text += ":00"
		}
		return strings.TrimSuffix(text, "Z") + "Z"
	}
	return text
}

// doneText confirms the command that was just requested.
func doneText(kind string) string {
	return map[string]string{
		string(commands.Trigger):  "Triggered: a replica will run it in a moment.",
		string(commands.Pause):    "Paused: its ticks are skipped until it is resumed, or the pause ends.",
		string(commands.Resume):   "Resumed: its ticks run again.",
		string(commands.Backfill): "Backfill requested: its runs start in a moment.",
		string(commands.Cancel):   "Cancelled: the runs were asked to stop.",
		string(commands.Release):  "The lock was taken from its holder.",
	}[kind]
}
