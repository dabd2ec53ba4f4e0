package dashboard_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// keyed names a command.
func keyed(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", key) }
}

// A key that was used for one command does nothing else, and the audit log has whatever
// was done.
func TestNoCommandGoesUnseen(t *testing.T) {
	t.Parallel()
	const so = `{"reason": "so"}`
	r := newRig(t)
	if a := r.ask(operator, "POST", "/api/v1/resume", `{"reason": "so", "tag": "nobody-has-it"}`, keyed("K")); a.status != http.StatusOK {
		t.Fatalf("a resume: %d %s", a.status, a.body)
	}
	for path, body := range map[string]string{
		"/api/v1/jobs/sweep/pause": so, "/api/v1/jobs/sweep/trigger": so, "/api/v1/pause": `{"reason": "so", "all": true}`,
		"/api/v1/resume": `{"reason": "another", "tag": "nobody-has-it"}`,
	} {
		if a := r.ask(operator, "POST", path, body, keyed("K")); a.status != http.StatusUnprocessableEntity || a.code() != "key_reused" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	open, err := r.commands.Open(t.Context())
	if err != nil || len(open.Requests) != 0 || len(open.Pauses) != 1 { // that of the rig
		t.Errorf("in force is %+v, %v", open, err)
	}
	if a := r.ask(admin, "POST", "/api/v1/jobs/sweep/pause", so, keyed("K")); a.status != http.StatusOK {
		t.Errorf("the key of another user: %d %s", a.status, a.body)
	}
	if a := r.ask(operator, "POST", "/api/v1/jobs/sweep/pause", so, keyed(strings.Repeat("K", 201))); a.status != http.StatusBadRequest {
		t.Errorf("a long key: %d %s", a.status, a.body)
	}
	commands, _ := get[view.Command](r, "/api/v1/audit")
	var kinds []string
	for _, command := range commands {
		kinds = append(kinds, string(command.Kind)+" "+command.Target())
	}
	slices.Sort(kinds)
	if want := []string{"pause sweep", "pause tag finance", "resume tag nobody-has-it"}; !slices.Equal(kinds, want) {
		t.Errorf("the audit log has %q, want %q", kinds, want)
	}
}

// No key makes the ID under which a run asks for what follows it.
func TestNoKeyForestallsAChain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := "+0123456789abcdef0123456789abcdef" // as by job.ChainID
	if a := r.ask(operator, "POST", "/api/v1/jobs/sweep/trigger", `{"reason": "so"}`, keyed(id)); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	chained, err := r.commands.Do(t.Context(), commands.Command{ID: id, Kind: commands.Trigger, Job: "sweep", Trigger: ledger.ByChain, Parent: "report@20270101T020000.000Z"})
	if err != nil || chained.Trigger != ledger.ByChain {
		t.Fatalf("the chain asks for %+v, %v", chained, err)
	}
	if open, err := r.commands.Open(t.Context()); err != nil || len(open.Requests) != 2 {
		t.Errorf("open are %+v, %v", open.Requests, err)
	}
}

// The log of the replica that was asked has every command, also when the nodes have lost
// theirs.
func TestAcceptedCommandsAreLogged(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	r := newRig(t, func(c *setup) { c.Config.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	for _, tc := range []struct {
		who              secret
		path, body, want string
	}{
		{operator, "/api/v1/jobs/report/trigger", `{"reason": "one"}`, `act=trigger of=report by=ann@192.0.2.1 reason=one`},
		{operator, "/api/v1/pause", `{"reason": "two", "tag": "finance"}`, `act=pause of="tag finance" by=ann@192.0.2.1 reason=two`},
		{admin, "/api/v1/locks/report/release", `{"reason": "three", "confirm": "report"}`, `act=release of=report by=root@192.0.2.1 reason=three`},
		{viewer, "/api/v1/jobs/report/trigger", `{"reason": "four"}`, ``},
	} {
		log.Reset()
		a := r.ask(tc.who, "POST", tc.path, tc.body)
		if accepted := strings.Contains(log.String(), "a command was accepted"); accepted != (tc.want != "") || !strings.Contains(log.String(), tc.want) {
			t.Errorf("%s: %d, and the log says %s", tc.path, a.status, log)
		}
	}
}

// A form that is sent again with other contents says so, and asks for them when it is
// sent once more.
func TestFormWithAUsedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	send := func(key, reason string) answer {
		return r.ask(operator, "POST", "/jobs/sweep/trigger", "reason="+reason+"&key="+key, func(req *http.Request) {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
	}
	if a := send("K", "one"); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := send("K", "two")
	if a.status != http.StatusUnprocessableEntity || strings.Contains(string(a.body), `value="K"`) || !strings.Contains(string(a.body), "already sent for another command") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
