// Package console serves the API (package api) and the dashboard (package pages) over HTTP, to
// users that package gate admits. A [Server] is an http.Handler. A replica serves it on
// http.listen; a service may mount it in its own mux under [Options.BasePath].
//
// Imports go one way: web → pages → api → gate → problem.
package console

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/pages"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is the configuration of a Server: what it shows, and the choices of the service
// that serves it.
type Config struct {
	// Control reads the cluster and requests acts. Required.
	Control view.Control
	// Nodes of the cluster. Required.
	Nodes view.Nodes
	// Settings returns the effective configuration, without secrets, for encoding/json.
	// Nil: the configuration is not published.
	Settings func() any
	// Live, if set, returns a run in this process and its log so far; false if no run of
	// the job has the token. Runs of other replicas are read from the ledger.
	Live func(job string, token locking.Token) (ledger.Log, bool)
	// Replica is the ID of the serving replica, and Version its release.
	Replica, Version string

	Options
}

// Options are described in dashboard.Config, which has the same fields.
type Options struct {
	BasePath         string
	Users            []identity.User
	Anonymous        identity.Anonymous
	Proxy            identity.Proxy
	Identify         func(*http.Request) (identity.Identity, bool)
	Ready            func() []string
	Metrics          http.Handler
	AnonymousMetrics identity.Anonymous
	Warnings         func() []string
	Timeout          time.Duration
	Poll             time.Duration
	Listeners        int
	Logger           *slog.Logger
}

// WithDefaults returns c with defaults for zero values.
func (c Config) WithDefaults() Config {
	c.BasePath = strings.TrimSuffix(c.BasePath, "/")
	c.Anonymous = cmp.Or(c.Anonymous, identity.AnonymousNone)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	c.Listeners = cmp.Or(c.Listeners, 100)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns all mistakes in c.
func (c Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Control.Ledger == nil || c.Control.Roster == nil || c.Control.Acts == nil || c.Control.Evict == nil || c.Nodes == nil {
		wrong("web: Control and Nodes are required, with all their fields")
	}
	if err := gate.ValidBasePath(c.BasePath); err != nil {
		wrong("web: BasePath: %w", err)
	}
	if err := c.AnonymousMetrics.Validate(); err != nil {
		wrong("web: AnonymousMetrics: %w", err)
	}
	return errors.Join(append(errs, c.gate().Validate())...)
}

// gate is the part for the gate.
func (c Config) gate() gate.Config {
	return gate.Config{
		Users: c.Users, Anonymous: c.Anonymous, Proxy: c.Proxy, Identify: c.Identify, Note: c.Control.Note, Timeout: c.Timeout, Logger: c.Logger,
	}
}

// pages is the part for the API and the dashboard.
func (c Config) pages() pages.Config {
	return pages.Config{Warnings: c.Warnings, Config: api.Config{
		Control: c.Control, Nodes: c.Nodes, Settings: c.Settings, Live: c.Live, Replica: c.Replica, Version: c.Version, BasePath: c.BasePath,
		Anonymous: c.Anonymous, Timeout: c.Timeout, Poll: c.Poll, Listeners: c.Listeners, Logger: c.Logger,
	}}
}

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

// serveProbes adds the probes for monitoring to the mux. Those of health and readiness need
// no user, but only users who may read see why the replica is not ready.
func (s *Server) serveProbes(mux *http.ServeMux) {
	if s.cfg.Ready != nil {
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
		mux.HandleFunc("GET /readyz", s.serveReadiness)
	}
	if s.cfg.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			id, wrong := s.gate.Identify(r)
			open := id.Name == "" && s.gate.Open(r, s.cfg.AnonymousMetrics)
			if wrong == nil && !open {
				wrong = gate.Lacks(id, identity.Viewer)
			}
			if wrong != nil {
				wrong.Write(w)
				return
			}
			s.cfg.Metrics.ServeHTTP(w, r)
		})
	}
}

func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	why := s.cfg.Ready()
	if len(why) == 0 {
		say(w, http.StatusOK, "ok")
		return
	}
	if id, wrong := s.gate.Identify(r); wrong != nil || !id.Role.Allows(identity.Viewer) {
		why = []string{"not ready; log in to see why"}
	}
	say(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
