// Package api is the REST API under /api/v1. One table of routes serves requests and
// generates the OpenAPI 3.1 document. Event streams follow the cluster and single runs.
//
// The dashboard uses the same routes, through [API.Read] and [API.Action]. The cost of an
// answer is bounded, however long the history is. One poller reads the events for all
// streams, and only while there are any.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Prefix of the API's paths, below the base path.
const Prefix = "/api/v1"

// A Config has the cluster that the API shows, and how it is served: see dashboard.Config.
type Config struct {
	view.Host // with its logger

	BasePath      string
	Anonymous     identity.Anonymous // for the OpenAPI document
	Timeout, Poll time.Duration
	Listeners     int
}

// An API serves requests. Make it with New, and Close it at the end.
type API struct {
	cfg         Config
	gate        *gate.Gate
	routes      []route
	document    []byte
	events      *hub
	openStreams openStreams // for streams of events
}

// New returns an API. Of the host it requires Control, Nodes and Logger.
func New(cfg Config, g *gate.Gate) (*API, error) {
	a := &API{cfg: cfg, gate: g, routes: routes(), openStreams: openStreams{taken: map[string]int{}}}
	a.events = newHub(a)
	var err error
	a.document, err = document(a.routes, cfg)
	return a, err
}

// Close ends all event streams and waits for them.
func (a *API) Close() { a.events.close() }

// Nudge triggers the next poll for events: this replica has a new one.
func (a *API) Nudge() {
	select {
	case a.events.nudged <- struct{}{}:
	default: // one is enough
	}
}

// Route adds the API's routes to a mux.
func (a *API) Route(mux *http.ServeMux) {
	paths := map[string][]string{}
	for _, rt := range a.routes {
		mux.Handle(rt.method+" "+Prefix+rt.path, a.serve(rt))
		paths[rt.path] = append(paths[rt.path], rt.method)
	}
	for path, methods := range paths {
		allow := strings.Join(methods, ", ")
		mux.HandleFunc(Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			problem.New(http.StatusMethodNotAllowed, "method", r.Method+" is not allowed here; use "+allow).Write(w)
		})
	}
	mux.HandleFunc("GET "+Prefix+"/events", a.serveEvents)
	mux.HandleFunc("GET "+Prefix+"/runs/{run}/events", a.serveRunEvents)
	mux.HandleFunc("GET "+Prefix+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.document) // the client may be gone
	})
	mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		problem.New(http.StatusNotFound, "not_found", "no such path; "+a.cfg.BasePath+Prefix+"/openapi.json lists all").Write(w)
	})
}

// serve returns the handler of a route.
func (a *API) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.cfg.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		var answer any
		id, wrong := a.gate.Admit(r, rt.role, rt.kind)
		if wrong == nil {
			answer, wrong = a.answer(ctx, rt, r, id)
		}
		if wrong != nil {
			wrong.Write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(rt.status)
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	})
}

// answer serves an admitted request.
func (a *API) answer(ctx context.Context, rt route, r *http.Request, id identity.Identity) (any, *problem.Problem) {
	c := &call{API: a, route: rt, r: r, id: id}
	if wrong := c.parse(); wrong != nil {
		return nil, wrong
	}
	answer, err := rt.answer(ctx, c)
	if err != nil {
		return nil, a.Explain(r, err)
	}
	return answer, nil
}

// Explain converts an error to a problem for the client.
func (a *API) Explain(r *http.Request, err error) *problem.Problem {
	one := a.cfg.Control.Health.OneStore()
	p := problem.Of(err, one)
	if p == nil && r.Context().Err() != nil {
		err = errors.Join(context.Cause(r.Context()), err)
		p = problem.Of(err, one)
	}
	if p == nil {
		a.cfg.Logger.Error("a request failed", "method", r.Method, "path", r.URL.Path, "why", err)
		p = problem.New(http.StatusInternalServerError, "internal", "internal error; the log of replica "+a.cfg.ID+" has the cause")
	}
	return p
}

// find returns the route of a path below Prefix.
func (a *API) find(method, path string) route {
	i := slices.IndexFunc(a.routes, func(rt route) bool { return rt.method == method && rt.path == path })
	return a.routes[i]
}

// Read returns the answer to GET of a path below Prefix. The page has admitted the user; the
// request has the values of the path.
func (a *API) Read(ctx context.Context, r *http.Request, id identity.Identity, path string, query url.Values) (any, error) {
	r.URL.RawQuery = query.Encode()
	c := &call{API: a, route: a.find(http.MethodGet, path), r: r, id: id}
	if wrong := c.parse(); wrong != nil {
		return nil, &view.InvalidError{Msg: wrong.Detail}
	}
	return c.route.answer(ctx, c)
}

// An Action is a route of a command, for the page with its form.
type Action struct {
	Role identity.Role // required
	Kind commands.Kind

	api   *API
	route route
}

// Action returns the action of a path below Prefix.
func (a *API) Action(path string) Action {
	rt := a.find(http.MethodPost, path)
	return Action{rt.role, rt.kind, a, rt}
}

// Do serves an admitted request with a JSON body.
func (a Action) Do(ctx context.Context, r *http.Request, id identity.Identity) (any, *problem.Problem) {
	return a.api.answer(ctx, a.route, r, id)
}

// Choices are the possible values of a parameter of GET path.
func (a *API) Choices(path, name string) []string {
	var list []string
	for _, p := range a.find(http.MethodGet, path).query {
		if p.name == name {
			for _, value := range p.schema.Items.Enum {
				list = append(list, value.(string))
			}
		}
	}
	return list
}

// A route is one operation of the API. The table of routes serves the API and describes it.
type route struct {
	method, path string // below Prefix
	about        string // in one line
	role         identity.Role
	kind         commands.Kind // of a command, else ""
	query        []param
	body         any // a value of the body's type, or nil
	reply        any // a value of the answer's type
	status       int
	answer       func(ctx context.Context, c *call) (any, error)

	bodySchema *jsonschema.Schema
}

// Parameters of several routes.
func limitParam() param {
	return integer("limit", "Number of rows at most.", 1, 1000, 100)
}

func entryParams() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "The next of the page before.", schema: shortText(1000)},
		{name: "since", about: "Only ticks from this time on.", schema: timeSchema()},
		{name: "until", about: "Only ticks before this time.", schema: timeSchema()},
		{name: "outcome", about: "Only these outcomes.", list: true, schema: listOf(enum(ledger.Outcomes()...))},
		{name: "trigger", about: "Only these triggers.", list: true, schema: listOf(enum(ledger.Triggers()...))},
		{name: "reason", about: "Only these reason codes.", list: true, schema: listOf(enum(ledger.Codes()...))},
	}
}

func auditParams() []param {
	return []param{
		limitParam(),
		{name: "cursor", about: "The next of the page before.", schema: shortText(200)},
		{name: "since", about: "Only commands from this time on.", schema: timeSchema()},
		{name: "by", about: "Only commands whose author's name or address contains this text.", schema: shortText(200)},
		{name: "job", about: "Only commands on the job with this key, or on the tag.", schema: shortText(200)},
		{name: "act", about: "Only these commands.", list: true, schema: listOf(enum(commands.Kinds()...))},
		{name: "refused", about: "yes: only refused commands; no: only the others.", schema: enum("yes", "no")},
	}
}

// routes lists all routes.
func routes() []route {
	list := []route{
		{path: "/jobs", about: "Jobs that the replicas serve, a row for each version, with its last tick.", query: []param{
			limitParam(),
			{name: "cursor", about: "The next of the page before.", schema: shortText(200)},
			{name: "q", about: "Only jobs whose name, tags or description contain this text.", schema: shortText(200)},
		}, reply: view.Page[view.Job]{}, answer: answerJobs},
		{path: "/jobs/{job}", about: "One job: its versions, next ticks, pauses and pending requests.", reply: view.JobDetail{}, answer: func(ctx context.Context, c *call) (any, error) {
			return c.cfg.Control.Job(ctx, c.r.PathValue("job"))
		}},
		{path: "/jobs/{job}/ticks", about: "Ticks of a job with their outcomes, newest first, including computed ones that no replica recorded.", query: entryParams(), reply: view.Page[view.Tick]{}, answer: entriesOf(true, view.Control.Ticks)},
		{path: "/jobs/{job}/runs", about: "Runs of a job, newest first, one row for each attempt.", query: entryParams(), reply: view.Page[view.Run]{}, answer: entriesOf(false, view.Control.Runs)},
		{path: "/ticks", about: "The latest ticks of all jobs with their outcomes. With filters, a page may have few rows and still a next page.", query: entryParams(), reply: view.Page[view.Tick]{}, answer: entriesOf(true, view.Control.Ticks)},
		{path: "/runs", about: "The latest runs of all jobs, one row for each attempt. With filters, a page may have few rows and still a next page.", query: entryParams(), reply: view.Page[view.Run]{}, answer: entriesOf(false, view.Control.Runs)},
		{path: "/runs/{run}", about: "One run: its attempts, newest first, with the nodes' answers and the extensions of the lease.", reply: view.Page[view.Tick]{}, answer: func(ctx context.Context, c *call) (any, error) {
			return pageOf(c.cfg.Control.Attempts(ctx, c.r.PathValue("run")))
		}},
		{path: "/runs/{run}/log", about: "The log of a run; of a running one up to as_of.", query: []param{
			integer("attempt", "Number of the attempt; 0: the last.", 0, 1_000_000, 0),
		}, reply: view.Log{}, answer: func(ctx context.Context, c *call) (any, error) {
			return c.cfg.Control.Log(ctx, "", c.r.PathValue("run"), c.number("attempt"))
		}},
		{path: "/next", about: "Next ticks of the served jobs, soonest first.", query: []param{
			limitParam(),
			{name: "job", about: "Only of this job.", schema: shortText(200)},
			{name: "from", about: "Only ticks that start after this time; default: now.", schema: timeSchema()},
		}, reply: view.Page[view.Next]{}, answer: answerNext},
		{path: "/replicas", about: "Replicas that were seen lately, and those that were lost in the last 24 hours.", reply: view.Page[view.Replica]{}, answer: rowsOf(view.Control.Replicas)},
		{path: "/replicas/left", about: "Replicas that left in the last 24 hours and have not come back, the last one first: the latest 100.", reply: view.Page[view.Replica]{}, answer: rowsOf(view.Control.Left)},
		{path: "/nodes", about: "Nodes: which vote, and why and until when the others do not.", reply: view.Page[view.Node]{}, answer: rowsOf(view.Control.Nodes)},
		{path: "/nodes/check", about: "A check of each node, with findings that say what to do. Takes longer than other routes.", reply: view.Page[view.Check]{}, answer: func(ctx context.Context, c *call) (any, error) {
			checked, err := c.cfg.Control.Check(ctx)
			return pageOf(checked.Rows, err)
		}},
		{path: "/locks", about: "Held locks, and runs that never reported their end.", reply: view.Page[view.Lock]{}, answer: rowsOf(view.Control.Locks)},
		{path: "/pauses", about: "Pauses in force, oldest first; /jobs has those of the configuration.", reply: view.Page[view.Command]{}, answer: rowsOf(view.Control.Pauses)},
		{path: "/audit", about: "Commands on the cluster, done and refused, newest first.", query: auditParams(), reply: view.Page[view.Command]{}, answer: answerAudit},
		{path: "/configuration", about: "The configuration of the serving replica, without secrets, and the hashes of the others.", reply: Configuration{}, answer: answerConfiguration},
		{path: "/configuration/sets/{hash}", about: "A set of jobs that replicas serve, or served within a day.", reply: JobSet{}, answer: answerJobSet},
		{path: "/configuration/diff", about: "The differences between two sets of jobs, by job and setting.", query: []param{
			{name: "from", about: "The config_hash of the old set.", schema: shortText(100)},
			{name: "to", about: "The config_hash of the new set.", schema: shortText(100)},
		}, reply: view.Comparison{}, answer: answerComparison},
		{path: "/whoami", about: "The user of the request, and the role.", reply: identityRow{}, answer: answerWhoami},
	}
	for i := range list {
		list[i].method, list[i].role, list[i].status = http.MethodGet, identity.Viewer, http.StatusOK
	}
	return append(list, commandRoutes()...)
}

// commandRoutes lists the routes of commands.
func commandRoutes() []route {
	list := []route{
		{path: "/jobs/{job}/trigger", kind: commands.Trigger, about: "Run a job once, now, on one of the replicas.", body: triggerBody{}, reply: view.Command{}, answer: doTrigger},
		{path: "/jobs/{job}/backfill", kind: commands.Backfill, about: "Run a job for each of its ticks in a past range of time; with dry_run only list them.", body: backfillBody{}, reply: Planned{}, answer: doBackfill},
		{path: "/jobs/{job}/cancel", kind: commands.Cancel, about: "Cancel the running runs of a job, or one of them.", body: cancelBody{}, reply: view.Cancelled{}, answer: doCancel},
		{path: "/jobs/{job}/pause", kind: commands.Pause, about: "Skip the ticks of a job, for some time or until it is resumed.", body: pauseBody{}, reply: view.PauseResult{}, answer: doPauseOrResume},
		{path: "/jobs/{job}/resume", kind: commands.Resume, about: "End the pause of a job.", body: reasonBody{}, reply: view.PauseResult{}, answer: doPauseOrResume},
		{path: "/pause", kind: commands.Pause, about: "Skip the ticks of all jobs with a tag, or of all jobs, for some time or until they are resumed.", body: pauseAllBody{}, reply: view.PauseResult{}, answer: doPauseOrResume},
		{path: "/resume", kind: commands.Resume, about: "End the pause of a tag, of all jobs, or the one with an ID.", body: resumeBody{}, reply: view.PauseResult{}, answer: doPauseOrResume},
		{path: "/locks/{job}/release", kind: commands.Release, role: identity.Admin, about: "Take a lock from its holder by force.", body: releaseBody{}, reply: view.Lock{}, answer: doRelease},
	}
	for i := range list {
		list[i].method, list[i].status = http.MethodPost, http.StatusOK
		if list[i].role == "" {
			list[i].role = identity.Operator
		}
	}
	return list
}
