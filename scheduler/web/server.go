package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/listing"
)

// A Server answers requests. Make it with New, and Close it at the end.
type Server struct {
	cfg      Config
	users    atomic.Pointer[users] // replaced as a whole
	failures failures
	turns    turns // of those whose password is checked
	notes    noteLimit
	origins  *http.CrossOriginProtection
	api      []route
	handler  http.Handler
	events   *hub
	contests contests

	places places // for streams of events
}

// keepDirectory is how long pages and answers go by the same list of jobs: a page asks
// for several things at once, and many people look at the same time. Acts go by what
// is listed when they are asked for.
const keepDirectory = 2 * time.Second

// New returns a server. It contacts no node.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.WithDefaults(), origins: http.NewCrossOriginProtection(), api: routes()}
	s.users.Store(newUsers(cfg.Users))
	if s.cfg.Control.Kept == nil {
		s.cfg.Control.Kept = &listing.Shelf{For: keepDirectory}
	}
	s.events = newHub(s)
	document, err := document(s.api, s.cfg)
	if err != nil {
		return nil, err
	}
	dashboard, err := newPages(s)
	if err != nil {
		return nil, err
	}
	s.handler = s.mux(document, dashboard)
	return s, nil
}

// ServeHTTP implements http.Handler. Paths begin with Config.BasePath.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	s.handler.ServeHTTP(w, r)
}

// Close ends the answers that go on until their clients leave, and waits for who
// reads events.
func (s *Server) Close() { s.events.close() }

// mux has all routes.
func (s *Server) mux(document []byte, dashboard *pages) http.Handler {
	mux := http.NewServeMux()
	paths := map[string][]string{}
	for _, rt := range s.api {
		mux.Handle(rt.method+" "+prefix+rt.path, s.serve(rt))
		paths[rt.path] = append(paths[rt.path], rt.method)
	}
	for path, methods := range paths {
		allow := strings.Join(methods, ", ")
		mux.HandleFunc(prefix+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			newProblem(http.StatusMethodNotAllowed, "method", r.Method+" is not for this path; write "+allow).write(w)
		})
	}
	mux.HandleFunc("GET "+prefix+"/events", s.serveEvents)
	mux.HandleFunc("GET "+prefix+"/runs/{run}/events", s.serveRunEvents)
	mux.HandleFunc("GET "+prefix+"/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // who asked may have gone
	})
	mux.HandleFunc(prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		newProblem(http.StatusNotFound, "not_found", "there is nothing at this path; "+s.cfg.BasePath+prefix+"/openapi.json describes what there is").write(w)
	})
	s.serveProbes(mux)
	dashboard.route(mux)
	if s.cfg.BasePath == "" {
		return mux
	}
	outer := http.NewServeMux()
	outer.Handle(s.cfg.BasePath+"/", http.StripPrefix(s.cfg.BasePath, mux))
	return outer
}

// prefix is where the API is.
const prefix = "/api/v1"

// serve answers a route of the API.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		id, wrong := s.admit(r, rt)
		if wrong != nil {
			wrong.write(w)
			return
		}
		c := &call{Server: s, route: rt, r: r, id: id}
		if wrong := c.parse(); wrong != nil {
			wrong.write(w)
			return
		}
		answer, err := rt.answer(ctx, c)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		writeJSON(w, rt.status, answer)
	})
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.explain(r, err).write(w)
}

// explain says what an error means for who made the request.
func (s *Server) explain(r *http.Request, err error) *problem {
	p := problemOf(err)
	if p == nil && r.Context().Err() != nil {
		err = errors.Join(context.Cause(r.Context()), err)
		p = problemOf(err)
	}
	if p == nil {
		s.cfg.Logger.Error("a request failed", "method", r.Method, "path", r.URL.Path, "why", err)
		p = newProblem(http.StatusInternalServerError, "internal", "something went wrong; the log of replica "+s.cfg.Replica+" says what")
	}
	return p
}

// admit returns who makes the request, or why they may not.
func (s *Server) admit(r *http.Request, rt route) (Identity, *problem) {
	id, wrong := s.identify(r)
	if wrong == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := s.origins.Check(r); err != nil {
			wrong = newProblem(http.StatusForbidden, "cross_origin", "the request comes from a page of another origin")
		}
	}
	if wrong == nil && !id.Role.Allows(rt.role) {
		wrong = refusal(id, rt.role)
	}
	if wrong != nil && rt.kind != "" {
		s.noteRefusal(r, rt, id, wrong)
	}
	return id, wrong
}

// refusal says why who makes a request may not.
func refusal(id Identity, needed Role) *problem {
	switch {
	case id.Name == "":
		return unauthorized("this takes a user with role " + string(needed) + "; send a token or log in")
	case id.Role == "":
		return forbidden(id.Name + " has no role here; this takes role " + string(needed))
	}
	return forbidden(id.Name + " has role " + string(id.Role) + "; this takes role " + string(needed))
}

// noteLimit bounds how many refusals are noted on the nodes, so that they do not
// drive other acts out of the audit log.
type noteLimit struct {
	mu   sync.Mutex
	fail failCount
}
