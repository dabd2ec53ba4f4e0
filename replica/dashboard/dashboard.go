// Package dashboard serves the API and the pages of a replica. A program that links it
// passes a [Server], which serves what the http section of config.yaml asks for:
//
//	replica.Config{Dashboard: new(dashboard.Server)}
//
// or mounts the same beside its own pages: see [Mount].
//
// It connects the rooms of the console: pages → api → gate → problem, over the read model of
// package view.
package dashboard

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/pages"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/identity"
)

// A Config says under which path the API and the pages are served, and who may do what.
type Config struct {
	// HTTP has base_path, anonymous, anonymous_metrics, users, session_key and trusted_proxies. A mux of the
	// program ignores its other settings; a users_file is read once. Handler.SetUsers replaces
	// the users.
	settings.HTTP
	// Identify, if set, is called first to identify a user, for services with their own
	// users; false: unknown.
	Identify func(*http.Request) (identity.Identity, bool)

	// Ready returns why the replica takes no ticks; none: it does. If set, GET /healthz
	// always answers 200, and GET /readyz 200 or 503. Both need no user, but only users
	// who may read see the reasons.
	Ready func() []string
	// Metrics, if set, is served as GET /metrics to users who may read.
	Metrics http.Handler
	// Warnings, if set, returns problems of this replica for the overview, as sentences.
	Warnings func() []string

	// Timeout of one request. Default: 10s.
	Timeout time.Duration
	// Poll is the least pause between two polls for events. Default: 2s.
	Poll time.Duration
	// Listeners is how many event streams may be open. One client may open a quarter of
	// them. Default: 100.
	Listeners int
	// Logger. Default: that of the replica.
	Logger *slog.Logger
}

// A Handler serves the API and the pages below Config.BasePath.
type Handler struct {
	cfg    Config // with its defaults
	gate   *gate.Gate
	api    *api.API
	pages  *pages.Pages
	routes http.Handler
}

// Mount returns the API and the pages of a *replica.Replica's cluster, for a service that
// serves them in its own mux. Close it before the replica ends.
func Mount(r interface{ Shown() view.Host }, cfg Config) (*Handler, error) {
	return newHandler(r.Shown(), cfg)
}

// keepDirectory is how long pages and answers share one read of the directory: a page reads
// several listings, for many users. Commands read it again.
const keepDirectory = 2 * time.Second

// newHandler connects the rooms of the console, without contact to the store.
func newHandler(host view.Host, cfg Config) (*Handler, error) {
	cfg.BasePath = strings.TrimSuffix(cfg.BasePath, "/")
	cfg.Anonymous = cmp.Or(cfg.Anonymous, identity.AnonymousNone)
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, 2*time.Second)
	cfg.Listeners = cmp.Or(cfg.Listeners, 100)
	cfg.Logger = cmp.Or(cfg.Logger, host.Logger, slog.New(slog.DiscardHandler))
	host.Logger = cfg.Logger
	if host.Control.Cache == nil {
		host.Control.Cache = &view.DirectoryCache{For: keepDirectory}
	}
	host.Control.Standings = new(view.Standings)
	section := &config.Config{HTTP: cfg.HTTP}
	if c := host.Control; c.Records.Ledger == nil || c.Records.Roster == nil || c.Records.Commands == nil || c.Claims == nil || c.Health == nil {
		return nil, errors.New("web: Control is required, with its Records, Claims and Health")
	}
	if err := section.CheckHTTP(); err != nil {
		return nil, err
	}
	admits, err := admission(section)
	if err != nil {
		return nil, err
	}
	admits.Anonymous, admits.Identify = cfg.Anonymous, cfg.Identify
	admits.Note, admits.Timeout, admits.Logger = host.Control.Note, cfg.Timeout, cfg.Logger
	shown := api.Config{Host: host, BasePath: cfg.BasePath, Anonymous: cfg.Anonymous, Timeout: cfg.Timeout, Poll: cfg.Poll, Listeners: cfg.Listeners}
	h := &Handler{cfg: cfg, gate: gate.New(admits)}
	if h.api, err = api.New(shown, h.gate); err != nil {
		return nil, err
	}
	if h.pages, err = pages.New(shown, cfg.Warnings, h.api, h.gate); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	h.api.Route(mux)
	h.routeProbes(mux)
	h.pages.Route(mux)
	compress, err := gzhttp.NewWrapper(gzhttp.ContentTypes(compressed))
	if err != nil {
		return nil, err
	}
	if h.routes = compress(mux); cfg.BasePath != "" {
		outer := http.NewServeMux()
		outer.Handle(cfg.BasePath+"/", http.StripPrefix(cfg.BasePath, h.routes))
		h.routes = outer
	}
	return h, nil
}

// admission is who may log in, and how.
func admission(section *config.Config) (gate.Config, error) {
	users, err := section.Users()
	if err != nil {
		return gate.Config{}, err
	}
	key, err := section.SessionKey()
	return gate.Config{Users: users, SessionKey: key, Proxy: section.Proxy()}, err
}

// compressed are the types of what is sent compressed. Streams of events are not: each event leaves at once.
var compressed = []string{"text/html", "text/css", "text/javascript", "application/json", "application/problem+json", "image/svg+xml"}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	h.routes.ServeHTTP(w, r)
}

// SetUsers replaces the users. Removed users and old secrets are refused from the next
// request on. Event streams end, so clients connect and log in again. On an error nothing
// has changed.
func (h *Handler) SetUsers(users map[string]settings.User) error {
	list, err := (&config.Config{HTTP: settings.HTTP{Users: users}}).Users()
	if err == nil {
		h.gate.SetUsers(list)
	}
	return err
}

// Observe sends this replica's events sooner. It is an event.Observer.
func (h *Handler) Observe(e event.Event) {
	switch e.Kind {
	case event.Claimed, event.Finished, event.Recorded:
		h.api.Nudge()
	}
}

// Close ends all event streams and waits for them.
func (h *Handler) Close() { h.api.Close() }

// routeProbes adds the probes for monitoring. Those of health and readiness need no user, but
// only users who may read see why the replica is not ready.
func (h *Handler) routeProbes(mux *http.ServeMux) {
	if h.cfg.Ready != nil {
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
			why := h.cfg.Ready()
			if len(why) == 0 {
				say(w, http.StatusOK, "ok")
				return
			}
			if id, wrong := h.gate.Identify(r); wrong != nil || !id.Role.Allows(identity.Viewer) {
				why = []string{"not ready; log in to see why"}
			}
			say(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
		})
	}
	if h.cfg.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			id, wrong := h.gate.Identify(r)
			open := id.Name == "" && h.gate.Open(r, h.cfg.AnonymousMetrics)
			if wrong == nil && !open {
				wrong = gate.Lacks(id, identity.Viewer)
			}
			if wrong != nil {
				wrong.Write(w)
				return
			}
			h.cfg.Metrics.ServeHTTP(w, r)
		})
	}
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
