package cmd

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
)

// freeAddr is an unused address.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// With --server the commands print the same as with the nodes, and their commands are in the
// audit log under the name of the user.
func TestServer(t *testing.T) {
	t.Parallel()
	token, stored := gate.NewToken()
	rootToken, rootStored := gate.NewToken()
	addr := freeAddr(t)
	config := writeConfig(t, redistest.StartN(t, 3), `
http: {listen: "`+addr+`", users: {ann: {role: operator, token: "`+stored+`"}, root: {role: admin, token: "`+rootStored+`"}}}
jobs:
  report: {func: exec, schedule: "@yearly", params: {command: [echo, hello]}, tags: [finance]}
  wait: {func: exec, schedule: "@yearly", params: {command: [sleep, "600"]}}
`)
	initNew(t, config)
	r := campaigntest.Start(t, config, "a", "--set", "scheduler/drain_timeout=100ms")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := operator{t, []string{"--server", "http://" + addr, "--token-file", file}}
	nodes := operator{t, []string{"-c", config, "--set", "redis/node_timeout=700ms"}}
	eventually(t, "the replica serves", func() bool {
		out, _, code := remote.quorate("jobs", "-o", "json")
		return code == exitDone && strings.Contains(out, `"live": true`) && strings.Contains(out, "report")
	})
	if out := remote.exits(exitDone, "", "trigger", "report", "--reason", "try", "--wait"); !strings.Contains(out, "succeeded") {
		t.Errorf("trigger --wait says %q", out)
	}
	remote.exits(exitDone, "", "pause", "report", "--reason", "stop")
	if rows, own := ask[view.Command](remote, "pauses"), ask[view.Command](nodes, "pauses"); len(rows) != 1 || len(own) != 1 || rows[0].ID != own[0].ID {
		t.Errorf("the pauses are %+v, by the nodes %+v", rows, own)
	}
	remote.exits(exitNotFound, "nosuch", "resume", "--id", "nosuch", "--reason", "go on")
	remote.exits(exitDone, "", "resume", "--id", ask[view.Command](remote, "pauses")[0].ID, "--reason", "go on")
	remote.exits(exitDone, "was not paused", "resume", "--tag", "finance", "--reason", "go on")
	remote.exits(exitDone, "", "trigger", "wait", "--reason", "try")
	eventually(t, "the run goes on", func() bool { return len(ask[view.Run](remote, "runs", "wait")) == 1 })
	remote.exits(exitDone, "", "cancel", "wait", "--reason", "enough")
	eventually(t, "it was cancelled", func() bool { return ask[view.Run](remote, "runs", "wait")[0].Outcome == "cancelled" })
	if out := remote.exits(exitDone, "", "backfill", "report", "--from", "2025-01-01", "--to", "2026-02-01", "--dry-run"); !strings.Contains(out, "2026-01-01T00:00:00Z") {
		t.Errorf("backfill --dry-run says %q", out)
	}
	for _, args := range [][]string{
		{"jobs"},
		{"runs"},
		{"runs", "report"},
		{"ticks", "report"},
		{"ticks"},
		{"ticks", "--outcome", "cancelled", "--since", "1h"},
		{"runs", "--outcome", "cancelled", "--since", "1h"},
		{"audit"},
		{"audit", "--by", "ann", "--limit", "2"},
		{"audit", "--job", "finance"},
		{"audit", "--act", "trigger,cancel", "--since", "1h", "--refused", "no"},
		{"runs", "--until", "2100-01-01T00:00:00Z"},
		{"ticks", "report", "--until", "2100-01-01T00:00:00Z"},
	} {
		eventually(t, "the nodes and the server say the same", func() bool {
			of, _, _ := nodes.quorate(append(args, "-o", "json")...)
			by, _, _ := remote.quorate(append(args, "-o", "json")...)
			return of == by && len(of) > 10
		})
	}
	if commands := ask[view.Command](remote, "audit"); !strings.HasPrefix(view.Text(commands[0].By), "ann@127.0.0.1") {
		t.Errorf("the audit log names %+v", commands[0])
	}
	rootFile := filepath.Join(t.TempDir(), "root")
	if err := os.WriteFile(rootFile, []byte(rootToken), 0o600); err != nil {
		t.Fatal(err)
	}
	root := operator{t, []string{"--server", "http://" + addr, "--token-file", rootFile}}
	root.exits(exitNotFound, "nobody holds the lock", "locks", "release", "wait", "--reason", "it hangs")
	remote.exits(exitDone, "", "trigger", "wait", "--reason", "again")
	eventually(t, "its lock is held", func() bool { return len(ask[view.Lock](remote, "locks")) == 1 })
	if out := root.exits(exitDone, "", "locks", "release", "wait", "--reason", "it hangs"); !strings.Contains(out, "wait: the lock was taken from a with token ") {
		t.Errorf("locks release says %q", out)
	}
	id := view.Text(ask[view.Run](remote, "runs", "report")[0].ID)
	if out := remote.exits(exitDone, "", "logs", "report", id); !strings.Contains(out, "hello") {
		t.Errorf("the log is %q", out)
	}
	remote.exits(exitNotFound, "nosuch", "ticks", "nosuch")
	remote.exits(exitNotFound, "no run of report is running", "cancel", "report", "--reason", "x")
	remote.exits(exitUsage, "--reason", "trigger", "report")
	for _, args := range [][]string{{"store", "init"}, {"jobs", "forget", "report"}, {"nodes", "change", "--to", "x"}} {
		remote.exits(exitUsage, "leave out --server", args...)
	}
	if out := remote.exits(exitDone, "", "nodes"); strings.Count(out, "voting") != 3 {
		t.Errorf("nodes says %q", out)
	}
	if out := remote.exits(exitDone, "", "top", "--once"); !strings.Contains(out, "3 of 3 nodes vote; one more loss is fine.") || !strings.Contains(out, "1 replica, ready") {
		t.Errorf("top says %q", out)
	}
	out, _, _ := remote.quorate("store", "check")
	if !strings.Contains(out, "next restart: ") || !strings.Contains(out, "VERDICT") {
		t.Errorf("store check says %q", out)
	}
	remote.exits(exitFailed, "role", "locks", "release", "wait", "--reason", "it hangs")
	for _, o := range []operator{remote, nodes} {
		for flags, want := range map[string]int{"--by root": 1, "--job finance": 1, "--act trigger,pause": 4, "--refused yes": 1, "--since 2200-01-01T00:00:00Z": 0} {
			if commands := ask[view.Command](o, append([]string{"audit"}, strings.Fields(flags)...)...); len(commands) != want {
				t.Errorf("audit %s has %d commands, want %d: %+v", flags, len(commands), want, commands)
			}
		}
	}
	remote.exits(exitUsage, "write 2 to 500", "locks", "release", "wait", "--reason", "x")
	if out := remote.exits(exitDone, "", "runs", "--until", "2020-01-01T00:00:00Z"); !strings.Contains(out, "no runs") {
		t.Errorf("runs --until, before there were any: %q", out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	followed := &waitingBuffer{enough: func(s string) bool { return strings.Contains(s, "cancelled") }, then: cancel}
	if code := (App{Out: followed, Err: followed}).Exec(ctx, append([]string{"runs", "--follow"}, remote.flags...)); code != exitDone {
		t.Errorf("runs --follow: exit code %d\n%s", code, followed)
	}
	nobody := operator{t, []string{"--server", "http://" + addr}}
	nobody.exits(exitFailed, "QUORATE_TOKEN", "trigger", "report", "--reason", "x")
	operator{t, []string{"--server", "x"}}.exits(exitUsage, "--server x", "jobs")
	r.Signal(syscall.SIGTERM)
	if code := r.ExitCode(); code != exitDone {
		t.Errorf("the replica exits with %d", code)
	}
	nobody.exits(exitFailed, "leave out --server", "jobs")
}

// answering is a server that answers each path that ends so with a text.
func answering(t *testing.T, answers map[string]string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, text := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				_, _ = io.WriteString(w, text)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code": "not_found", "detail": "not \u001b[31mhere"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Who follows the log of a run reads each line once, when it is whole, and all of it at the end; of another attempt from the start.
func TestLogIsFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	logs := []string{
		"", `{"outcome": "running", "token": 1, "text": "one\nha"}`, `{"outcome": "running", "token": 1, "cut": 4, "text": "half\ntwo\n"}`,
		`{"outcome": "running", "token": 1, "cut": 20, "text": "three\n"}`,
		`{"outcome": "running", "token": 2, "text": "time=2027-03-01T12:00:00.000Z level=WARN msg=again n=1\n"}`,
		`{"outcome": "succeeded", "token": 2, "as_of": "2027-03-01T12:00:01.000Z", "text": "time=2027-03-01T12:00:00.000Z level=WARN msg=again n=1\nen"}`,
		`{"outcome": "succeeded", "token": 2, "text": "time=2027-03-01T12:00:00.000Z level=WARN msg=again n=1\nend"}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := `{"items": [{"id": "a@1", "outcome": "running"}]}`
		if strings.HasSuffix(r.URL.Path, "/log") {
			if text = logs[asked.Add(1)-1]; text == "" {
				w.WriteHeader(http.StatusNotFound)
				text = `{"code": "not_found", "detail": "nothing yet"}`
			}
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	out, errs, code := quorate(t, "logs", "a", "--follow", "--server", s.URL)
	if want := "one\nhalf\ntwo\n… (7 bytes were dropped)\nthree\nWARN again\nend\n"; code != exitDone || out != want {
		t.Errorf("it writes %q (%q, %d), want %q", out, errs, code, want)
	}
	if _, errs, code := quorate(t, "logs", "a", "-f", "-o", "json", "--server", s.URL); code != exitUsage || !strings.Contains(errs, "--follow") {
		t.Errorf("as JSON: %d %q", code, errs)
	}
}

// The log of a run that has ended may not be stored yet; one that was interrupted may go on elsewhere.
func TestEndOfAFollowedLog(t *testing.T) {
	t.Parallel()
	const missing = ""
	for name, tt := range map[string]struct {
		logs      []string
		out, errs string
		code      int
	}{
		"stored late":    {[]string{missing, missing, `{"outcome": "succeeded", "token": 1, "text": "end\n"}`}, "end\n", "", exitDone},
		"logged nothing": {[]string{missing, missing, missing, missing}, "", "nothing yet", exitNotFound},
		"never complete": {slices.Repeat([]string{`{"outcome": "interrupted", "token": 1, "as_of": "2027-03-01T12:00:01.000Z", "text": "half"}`}, 4), "half\n", "may run it again", exitDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text := `{"items": [{"id": "a@1", "outcome": "succeeded"}]}`
				if strings.HasSuffix(r.URL.Path, "/log") {
					if text = tt.logs[asked.Add(1)-1]; text == missing {
						w.WriteHeader(http.StatusNotFound)
						text = `{"code": "not_found", "detail": "nothing yet"}`
					}
				}
				_, _ = io.WriteString(w, text)
			}))
			t.Cleanup(s.Close)
			out, errs, code := quorate(t, "logs", "a", "--follow", "--server", s.URL)
			if code != tt.code || out != tt.out || !strings.Contains(errs, tt.errs) || int(asked.Load()) != len(tt.logs) {
				t.Errorf("it writes %q (%q, %d) after %d questions, want %q (%q, %d) after %d", out, errs, code, asked.Load(), tt.out, tt.errs, tt.code, len(tt.logs))
			}
		})
	}
}

// A server that answers with nothing is no reason to panic.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	url := answering(t, map[string]string{
		"/trigger": `{"run": "a@1"}`, "/runs/a@1": `{"items": []}`, "/backfill": `{"job": "a", "asked": true, "ticks": null}`,
		"/cancel": `{}`, "/pause": `{}`, "/release": `{}`, "/jobs": `{}`, "/replicas": `{}`, "/nodes": `{}`, "/check": `{}`, "/locks": `{}`, "/audit": `{}`, "/next": `{}`, "/log": `{}`,
	})
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"trigger a --wait --reason x", exitFailed, "accepted run a@1"},
		{"backfill a --from 2026-01-01 --to 2026-01-02 --reason x", exitDone, "requested 0 ticks"},
		{"backfill a --from 2026-01-01 --to 2026-01-02 --dry-run", exitDone, ""},
		{"cancel a --reason x", exitDone, ""},
		{"pause a --reason x", exitDone, ""},
		{"locks release a --reason xx", exitDone, ""},
		{"jobs", exitDone, ""},
		{"replicas", exitDone, ""},
		{"nodes", exitDone, ""},
		{"store check", exitDone, ""},
		{"locks", exitDone, ""},
		{"audit", exitDone, ""},
		{"logs a a@1", exitDone, ""},
	} {
		out, errs, code := quorate(t, append(strings.Fields(tt.args), "--server", url)...)
		if code != tt.code || !strings.Contains(out+errs, tt.says) {
			t.Errorf("%s: code %d, %q, %q", tt.args, code, out, errs)
		}
	}
}

// Logs of runs and texts of servers cannot control the terminal.
func TestServersTextIsHarmless(t *testing.T) {
	t.Parallel()
	url := answering(t, map[string]string{"/log": `{"text": "one\u001b]0;owned\u0007\n\ttwo\r\u202eeerht\n"}`})
	out, _, code := quorate(t, "logs", "a", "a@1", "--server", url)
	if want := "one\uFFFD]0;owned\uFFFD\n\ttwo\uFFFD\uFFFDeerht\n"; code != exitDone || out != want {
		t.Errorf("logs writes %q, want %q", out, want)
	}
	if out, _, _ := quorate(t, "logs", "a", "a@1", "--server", url, "-o", "json"); !strings.Contains(out, `\u001b]0;owned\u0007\n`) {
		t.Errorf("as JSON: %q", out)
	}
	if _, errs, code := quorate(t, "jobs", "--server", url); code != exitNotFound || !strings.Contains(errs, "not \uFFFD[31mhere") {
		t.Errorf("an error: %d %q", code, errs)
	}
}
