package dashboard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

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
