package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quorate/quorate/scheduler/identity"
)

// Who may read /metrics without being a user is a setting of its own.
func TestAnonymousMetrics(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		anonymous identity.Anonymous
		from      string
		want      int
	}{
		{"", "127.0.0.1:1", http.StatusUnauthorized},
		{identity.AnonymousLoopback, "127.0.0.1:1", http.StatusOK},
		{identity.AnonymousLoopback, "192.0.2.7:1", http.StatusUnauthorized},
		{identity.AnonymousAll, "192.0.2.7:1", http.StatusOK},
	} {
		r := newRig(t, func(c *setup) {
			c.AnonymousMetrics = tc.anonymous
			c.Config.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
		})
		if a := r.ask(nobody, "GET", "/metrics", "", from(tc.from, "localhost")); a.status != tc.want {
			t.Errorf("%q from %s: %d %s", tc.anonymous, tc.from, a.status, a.body)
		}
		if a := r.ask(nobody, "GET", "/api/v1/jobs", "", from(tc.from, "localhost")); a.status != http.StatusUnauthorized {
			t.Errorf("%q from %s reads the rest, too: %d", tc.anonymous, tc.from, a.status)
		}
		if a := r.ask(viewer, "GET", "/metrics", ""); a.status != http.StatusOK {
			t.Errorf("%q as a viewer: %d %s", tc.anonymous, a.status, a.body)
		}
	}
}

// Everybody learns whether the replica is ready; why it is not, and its metrics,
// only who may read.
func TestProbes(t *testing.T) {
	t.Parallel()
	var why []string
	r := newRig(t, func(cfg *setup) {
		cfg.BasePath = "/cron"
		cfg.Ready = func() []string { return why }
		cfg.Config.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("quorate_jobs 1\n")) })
	})
	for _, tt := range []struct {
		path   string
		why    []string
		who    secret
		status int
		body   string
	}{
		{"/healthz", []string{"no quorum"}, nobody, 200, "ok\n"},
		{"/readyz", nil, nobody, 200, "ok\n"},
		{"/readyz", []string{"no quorum"}, nobody, 503, "not ready; log in to see why\n"},
		{"/readyz", []string{"draining", "no quorum"}, viewer, 503, "draining\nno quorum\n"},
		{"/metrics", nil, viewer, 200, "quorate_jobs 1\n"},
		{"/metrics", nil, nobody, 401, ""},
	} {
		why = tt.why
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/cron"+tt.path, nil)
		if tt.who.token != "" {
			request.Header.Set("Authorization", "Bearer "+tt.who.token)
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		if w.Code != tt.status || tt.body != "" && w.Body.String() != tt.body || strings.Contains(w.Body.String(), "quorate_") != (tt.path == "/metrics" && tt.status == 200) {
			t.Errorf("%s by %q with %q: %d %q, want %d %q", tt.path, tt.who.name, tt.why, w.Code, w.Body, tt.status, tt.body)
		}
	}
}
