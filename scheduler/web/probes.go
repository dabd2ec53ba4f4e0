package web

import (
	"net/http"
	"strings"
)

// Probes are what is served beside the API to those who watch the process, below
// Config.BasePath.
type Probes struct {
	// Ready returns why the replica takes no ticks, nothing if it does. With it
	// GET /healthz answers 200 as long as anything is served at all, and GET /readyz
	// 200 or 503: to everybody, but only who may read is told why.
	Ready func() []string
	// Metrics is served as GET /metrics to who may read. Nil: it is not.
	Metrics http.Handler
	// AnonymousMetrics says who may read Metrics, too, without being a user. Default:
	// AnonymousNone.
	AnonymousMetrics Anonymous
}

// serveProbes adds them.
func (s *Server) serveProbes(mux *http.ServeMux) {
	if s.cfg.Probes.Ready != nil {
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
		mux.HandleFunc("GET /readyz", s.serveReadiness)
	}
	if s.cfg.Probes.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			id, wrong := s.identify(r)
			open := id.Name == "" && s.anonymous(r, s.cfg.Probes.AnonymousMetrics)
			if wrong == nil && !open && !id.Role.Allows(Viewer) {
				wrong = refusal(id, Viewer)
			}
			if wrong != nil {
				wrong.write(w)
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
	if id, wrong := s.identify(r); wrong != nil || !id.Role.Allows(Viewer) {
		why = []string{"not ready; log in to read why"}
	}
	say(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // a prober that went away
}
