package web

import (
	"net/http"
	"strings"

	"github.com/quorate/quorate/scheduler/web/identity"
)

// Probes are served next to the API for monitoring, below Config.BasePath.
type Probes struct {
	// Ready returns why the replica takes no ticks; none: it does. If set, GET /healthz
	// always answers 200, and GET /readyz 200 or 503. Both need no user, but only users
	// who may read see the reasons.
	Ready func() []string
	// Metrics, if set, is served as GET /metrics to users who may read.
	Metrics http.Handler
	// AnonymousMetrics says who may read Metrics without a user. Default: AnonymousNone.
	AnonymousMetrics identity.Anonymous
}

// serveProbes adds the probes to the mux.
func (s *Server) serveProbes(mux *http.ServeMux) {
	if s.cfg.Probes.Ready != nil {
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
		mux.HandleFunc("GET /readyz", s.serveReadiness)
	}
	if s.cfg.Probes.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			id, wrong := s.gate.Identify(r)
			open := id.Name == "" && s.gate.Open(r, s.cfg.Probes.AnonymousMetrics)
			if wrong == nil && !open {
				wrong = id.Lacks(identity.Viewer)
			}
			if wrong != nil {
				wrong.Write(w)
				return
			}
			s.cfg.Probes.Metrics.ServeHTTP(w, r)
		})
	}
}

func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	why := s.cfg.Probes.Ready()
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
