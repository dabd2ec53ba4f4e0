package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Prefix of the API's paths, below the base path.
const Prefix = "/api/v1"

// A Config has the fields of web.Config with the same names.
type Config struct {
	Control          view.Control
	Nodes            view.Nodes
	Settings         func() any
	Live             func(job string, token locking.Token) (ledger.Log, bool)
	Replica, Version string
	BasePath         string
	Anonymous        identity.Anonymous // for the OpenAPI document
	Timeout, Poll    time.Duration
	Listeners        int
	Logger           *slog.Logger
}

// An API serves requests. Make it with New, and Close it at the end.
type API struct {
	cfg      Config
	gate     *gate.Gate
	routes   []route
	document []byte
	events   *hub
	places   places // for streams of events
}

// New returns an API. All fields of cfg but Settings and Live are required.
func New(cfg Config, g *gate.Gate) (*API, error) {
	a := &API{cfg: cfg, gate: g, routes: routes()}
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
		id, wrong := a.gate.Admit(r, rt.role, rt.kind)
		if wrong != nil {
			wrong.Write(w)
			return
		}
		answer, wrong := a.answer(ctx, rt, r, id)
		if wrong != nil {
			wrong.Write(w)
			return
		}
		writeJSON(w, rt.status, answer)
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
	one := a.cfg.Nodes.NodeKind() == view.KindStore
	p := problem.Of(err, one)
	if p == nil && r.Context().Err() != nil {
		err = errors.Join(context.Cause(r.Context()), err)
		p = problem.Of(err, one)
	}
	if p == nil {
		a.cfg.Logger.Error("a request failed", "method", r.Method, "path", r.URL.Path, "why", err)
		p = problem.New(http.StatusInternalServerError, "internal", "internal error; the log of replica "+a.cfg.Replica+" has the cause")
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

// An Action is a route of an act, for the page with its form.
type Action struct {
	Role identity.Role // required
	Kind acts.Kind

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
