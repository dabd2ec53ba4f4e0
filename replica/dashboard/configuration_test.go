package dashboard_test

import (
	"context"
	"encoding/json"
	"net/http"
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
