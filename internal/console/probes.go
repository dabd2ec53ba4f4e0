package console

import (
	"net/http"
	"strings"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/scheduler/identity"
)

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
