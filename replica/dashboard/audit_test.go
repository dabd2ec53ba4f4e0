package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/console/view"
)

// The audit log is narrowed by who, what and whether it was refused, page by page,
// and the pages are the whole of it.
func TestAuditIsFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`)
	}
	r.ask(viewer, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`)
	r.ask(operator, "POST", "/api/v1/jobs/sweep/pause", `{"reason": "so"}`)
	for query, want := range map[string]int{
		"": 6, "by=ANN": 4, "by=bob": 1, "by=carl": 0, "act=trigger": 4, "act=pause,resume": 2, "refused=yes": 1, "refused=no": 5,
		"job=sweep": 1, "job=finance": 1, "job=report&refused=no": 3, "since=2200-01-01T00:00:00Z": 0, "since=2020-01-01T00:00:00Z&by=ann": 4,
	} {
		path, found := "/api/v1/audit?limit=2&"+query, map[string]bool{}
		at, pages := path, 0
		for pages < 5 {
			items, next := get[view.Command](r, at)
			for _, command := range items {
				found[command.ID] = true
			}
			if pages++; next == "" {
				break
			}
			at = path + "&cursor=" + url.QueryEscape(next)
		}
		if len(found) != want || pages > want/2+1 {
			t.Errorf("%s: %d commands on %d pages, want %d", query, len(found), pages, want)
		}
	}
	if a := r.ask(viewer, "GET", "/api/v1/audit?cursor=gone", ""); a.status != http.StatusBadRequest {
		t.Errorf("a cursor that is not known: %d %s", a.status, a.body)
	}
	for path, want := range map[string]string{
		"/audit?by=carl": "No command in the log matches", "/audit?limit=2": "Earlier", "/audit?refused=yes": "refused: bob has role viewer",
	} {
		if text := string(r.ask(viewer, "GET", path, "").body); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", path, want, text)
		}
	}
}
