package dashboard_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Replicas that do not say which jobs they serve are no drift, and no trouble.
func TestConfigurationOfSilentReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	beat := func(id, hash string) {
		_, err := r.roster.Beat(context.Background(), roster.Replica{ID: id, State: "ready", ConfigHash: hash, Started: time.Now()})
		r.must(err)
	}
	drifts := func() bool {
		a := r.ask(viewer, http.MethodGet, "/api/v1/configuration", "")
		var shown struct{ Drift bool }
		if err := json.Unmarshal(a.body, &shown); err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %s, %v", a.status, a.body, err)
		}
		return shown.Drift
	}
	beat("0-older", "")
	if drifts() {
		t.Error("a replica that names no hash drifts")
	}
	beat("b", "c2")
	if !drifts() {
		t.Error("two hashes are no drift")
	}
}

// The page says of each setting that differs from its default where it comes from, as text.
func TestSourcesOfSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) {
		c.Usual = map[string]any{"lock": map[string]any{"ttl": "15s", "max_hold": "0s"}}
		c.Settings = func() (any, func(...string) string) {
			return map[string]any{"lock": map[string]any{"ttl": "10s", "max_hold": "0s"}, "replica": map[string]any{"labels": map[string]any{"a.b": "x", "c": "y"}}},
				func(path ...string) string {
					return map[string]string{"lock.ttl": "config.yaml:12", "lock.max_hold": "config.yaml:13", "replica.labels.a.b": hostile}[strings.Join(path, ".")]
				}
		}
	})
	r.shows("/configuration", []string{
		`<code>15s</code></td><td data-label="Source">config.yaml:12</td>`, `<td data-label="Source">&lt;/script&gt;`,
		`<td data-label="Setting"><code>replica.labels.c</code></td><td data-label="Value"><code>y</code></td><td data-label="Default"></td><td data-label="Source"><span class="empty">unknown</span></td>`,
	}, []string{"config.yaml:13", hostile})
	var shown struct{ Sources map[string]string }
	r.must(json.Unmarshal(r.ask(viewer, http.MethodGet, "/api/v1/configuration", "").body, &shown))
	if want := map[string]string{"lock.ttl": "config.yaml:12", `replica.labels."a.b"`: hostile}; !maps.Equal(shown.Sources, want) {
		t.Errorf("the API says %v, want %v", shown.Sources, want)
	}
}
