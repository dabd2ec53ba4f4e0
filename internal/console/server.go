package console

import (
	"net/http"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/pages"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/identity"
)

// A Server serves requests. Make it with New, and Close it at the end.
type Server struct {
	cfg     Config
	gate    *gate.Gate
	api     *api.API
	pages   *pages.Pages
	handler http.Handler
}

// keepDirectory is how long pages and answers share one read of the directory: a page reads
// several listings, for many users. Acts read it again.
const keepDirectory = 2 * time.Second

// New returns a server, without contact to the nodes.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.WithDefaults()}
	if s.cfg.Control.Cache == nil {
		s.cfg.Control.Cache = &view.DirectoryCache{For: keepDirectory}
	}
	shown := s.cfg.pages()
	s.gate = gate.New(s.cfg.gate())
	var err error
	if s.api, err = api.New(shown.Config, s.gate); err != nil {
		return nil, err
	}
	if s.pages, err = pages.New(shown, s.api, s.gate); err != nil {
		return nil, err
	}
	s.handler = s.mux()
	return s, nil
}

// ServeHTTP implements http.Handler, for paths below Config.BasePath.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	s.handler.ServeHTTP(w, r)
}

// SetUsers replaces the users. Removed users and old secrets are refused from the next
// request on. Event streams end, so clients connect and log in again. On an error nothing
// has changed.
func (s *Server) SetUsers(list []identity.User) error { return s.gate.SetUsers(list) }

// Close ends all event streams and waits for them.
func (s *Server) Close() { s.api.Close() }

// Observe sends this replica's events sooner, and records the contests that it loses. It is
// a scheduler.Observer.
func (s *Server) Observe(e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventClaimed, scheduler.EventFinished, scheduler.EventRecorded:
		s.api.Nudge()
	case scheduler.EventLost:
		s.pages.Lost(e.Entry.Job, e.Entry.OrderKey())
	}
}

// mux returns all routes.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	s.api.Route(mux)
	s.serveProbes(mux)
	s.pages.Route(mux)
	if s.cfg.BasePath == "" {
		return mux
	}
	outer := http.NewServeMux()
	outer.Handle(s.cfg.BasePath+"/", http.StripPrefix(s.cfg.BasePath, mux))
	return outer
}
