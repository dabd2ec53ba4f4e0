package config

import (
	"context"
	"strings"
	"testing"

	"github.com/quorate/quorate/jobs"
)

// TestParamsOfRequests: they go before the job's own, are bound as strictly, and
// do not reach secrets or commands.
func TestParamsOfRequests(t *testing.T) {
	t.Parallel()
	type params struct {
		Customer string
		Copies   int
	}
	var got params
	registry := jobs.NewRegistry()
	jobs.Register(registry, "report", func(_ context.Context, _ jobs.Run, p params) error {
		got = p
		return nil
	})
	jobs.Register(registry, "exec", func(context.Context, jobs.Run, map[string]any) error { return nil })
	cfg := Default()
	own := map[string]any{"customer": "all", "copies": 2}
	for _, tc := range []struct {
		fn    string
		asked map[string]any
		want  string // "" for a run
	}{
		{"report", map[string]any{"customer": "acme"}, ""},
		{"report", map[string]any{"custumer": "acme"}, "custumer"},
		{"report", map[string]any{"copies": "three"}, "copies"},
		{"report", map[string]any{"customer": "${env:HOME}"}, "customer: ${…} is resolved in the configuration only"},
		{"exec", map[string]any{"command": []any{"id"}}, "exec takes its params from the configuration only"},
	} {
		job := JobConfig{Func: tc.fn, Params: own}
		h, err := rebind(registry, job, limits(cfg, job))(tc.asked)
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s with %v: %v, want an error with %q", tc.fn, tc.asked, err, tc.want)
			}
		case err != nil:
			t.Errorf("%s with %v: %v", tc.fn, tc.asked, err)
		default:
			if err := h(t.Context(), jobs.Run{}); err != nil || got != (params{"acme", 2}) {
				t.Errorf("%s with %v runs with %+v, %v", tc.fn, tc.asked, got, err)
			}
		}
	}
	if own["customer"] != "all" {
		t.Error("a request changes the configuration")
	}
}
