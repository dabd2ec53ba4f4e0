package dashboard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
)

// Every pause is listed, and ended by its id: that of a job that is not known, too.
func TestPausesAreListedAndEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.commands.Do(t.Context(), commands.Command{ID: "p1", Kind: commands.Pause, Job: "gone for long", By: "x", Reason: "so"})
	r.must(err)
	rows, _ := get[view.Command](r, "/api/v1/pauses")
	if len(rows) != 2 {
		t.Fatalf("the pauses are %+v", rows)
	}
	for body, want := range map[string]int{
		`{"reason": "so", "id": "nosuch"}`:             http.StatusNotFound,
		`{"reason": "so", "id": "p1", "all": true}`:    http.StatusBadRequest,
		`{"reason": "so", "id": "p1", "tag": "other"}`: http.StatusBadRequest,
	} {
		if a := r.ask(operator, "POST", "/api/v1/resume", body); a.status != want {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for _, row := range rows {
		if a := r.ask(operator, "POST", "/api/v1/resume", `{"reason": "so", "id": "`+row.ID+`"}`); a.status != http.StatusOK || !strings.Contains(string(a.body), `"kind":"resume"`) {
			t.Errorf("%s: %d %s", row.ID, a.status, a.body)
		}
	}
	if rows, _ := get[view.Command](r, "/api/v1/pauses"); len(rows) != 0 {
		t.Errorf("after that they are %+v", rows)
	}
	if a := r.ask(nobody, "GET", "/api/v1/pauses", ""); a.status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", a.status, a.body)
	}
}

// Asking again with the same key for the end of the same pause returns what the first
// request did. Another request needs another key.
func TestResumeByIDIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.commands.Do(t.Context(), commands.Command{ID: "p1", Kind: commands.Pause, Job: "gone for long", By: "x", Reason: "so"})
	r.must(err)
	const body = `{"reason": "so", "id": "p1"}`
	var commands []view.Command
	for range 2 {
		a := r.ask(operator, "POST", "/api/v1/resume", body, keyed("K"))
		var done struct {
			Command view.Command `json:"act"`
		}
		if err := json.Unmarshal(a.body, &done); err != nil || a.status != http.StatusOK {
			t.Fatalf("try %d: %d %s, %v", len(commands)+1, a.status, a.body, err)
		}
		commands = append(commands, done.Command)
	}
	if commands[0].ID == "" || commands[0].ID != commands[1].ID || commands[0].At != commands[1].At {
		t.Errorf("%+v, and then %+v", commands[0], commands[1])
	}
	if a := r.ask(operator, "POST", "/api/v1/resume", body, keyed("L")); a.status != http.StatusNotFound {
		t.Errorf("with another key: %d %s", a.status, a.body)
	}
	if a := r.ask(operator, "POST", "/api/v1/resume", `{"reason": "another", "id": "p1"}`, keyed("K")); a.code() != "key_reused" {
		t.Errorf("another request with the key: %d %s", a.status, a.body)
	}
}

// A pause has an end that is said as a time or a duration, not both, and lies ahead. The overview shows it, and
// that a pause without one may have been forgotten.
func TestPausesWithAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for body, want := range map[string]int{
			`{"reason": "so", "for": "2h"}`:                                               http.StatusOK,
			`{"reason": "so", "all": true, "until": "2000-02-01T00:00:00Z"}`:              http.StatusOK,
			`{"reason": "so", "for": "1ms"}`:                                              http.StatusBadRequest,
			`{"reason": "so", "for": "two hours"}`:                                        http.StatusBadRequest,
			`{"reason": "so", "until": "1999-01-01T00:00:00Z"}`:                           http.StatusBadRequest,
			`{"reason": "so", "until": "2999-01-01T00:00:00Z"}`:                           http.StatusBadRequest,
			`{"reason": "so", "for": "2h", "until": "2000-02-01T00:00:00Z"}`:              http.StatusBadRequest,
			`{"reason": "so", "all": true, "for": "2h", "until": "2000-02-01T00:00:00Z"}`: http.StatusBadRequest,
		} {
			path := "/api/v1/jobs/report/pause"
			if strings.Contains(body, "all") {
				path = "/api/v1/pause"
			}
			if a := r.ask(operator, "POST", path, body); a.status != want {
				t.Errorf("%s: %d %s", body, a.status, a.body)
			}
		}
		rows, _ := get[view.Command](r, "/api/v1/pauses")
		ends := map[string]string{}
		for _, row := range rows {
			ends[row.Target()] = view.Text(row.Until)
		}
		if ends["report"] == "" || ends["all jobs"] != "2000-02-01T00:00:00Z" || ends["tag finance"] != "" {
			t.Errorf("the pauses end %v", ends)
		}
		overview := func() string { return string(r.ask(viewer, "GET", "/", "").body) }
		if page := overview(); !strings.Contains(page, "until <time") || strings.Contains(page, "still without an end") {
			t.Errorf("the overview is %s", page)
		}
		time.Sleep(8 * 24 * time.Hour)
		if rows, _ := get[view.Command](r, "/api/v1/pauses"); len(rows) != 2 {
			t.Errorf("after eight days the pauses are %+v", rows)
		}
		if page := overview(); !strings.Contains(page, "still without an end") {
			t.Errorf("after eight days the overview is %s", page)
		}
	})
}
