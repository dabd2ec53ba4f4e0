package quorum

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/scheduler/commands"
)

// A host is shown by a dashboard.
type host view.Host

func (h host) Shown() view.Host { return view.Host(h) }

// A reason that the nodes cannot keep is the caller's mistake, found before any node
// is asked.
func TestReleaseRefusesReasons(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("redis: {nodes: [redis://127.0.0.1:1]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := config.ReadCluster(config.Source{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(list.Redis, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, reason := range []string{"", "x", " \t ", strings.Repeat("x", 501), strings.Repeat("é", 300)} {
		_, err := view.ControlOf(c).Release(t.Context(), commands.Command{Job: "job", Reason: reason}, 0)
		if _, ok := errors.AsType[*view.InvalidError](err); !ok {
			t.Errorf("a reason of %d bytes: %v", len(reason), err)
		}
	}
	server, err := dashboard.Mount(host{Control: view.ControlOf(c)}, dashboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	rec := httptest.NewRecorder()
	server.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/openapi.json", nil))
	var doc struct {
		Components struct {
			Schemas struct {
				ReleaseBody struct {
					Properties struct {
						Reason struct{ MinLength, MaxLength int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Components.Schemas.ReleaseBody.Properties.Reason; got.MinLength != locking.MinReason || got.MaxLength != locking.MaxReason {
		t.Errorf("the API describes %+v, the nodes keep %d to %d", got, locking.MinReason, locking.MaxReason)
	}
}
