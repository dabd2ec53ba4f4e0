package cmd

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
)

// piped runs a command of the program whose output is a pipe.
func piped(t *testing.T, args ...string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := campaigntest.Program(t.Context(), os.Args[0], args...)
	c.Stdout = w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("quorate %v: %v", args, err)
	}
	return string(out)
}

// TestPipesGetEverything: what commands write into a pipe is complete, however long names, reasons
// and errors are, with one line per row, and has no escapes.
func TestPipesGetEverything(t *testing.T) {
	t.Parallel()
	long := func(name string) string { return name + strings.Repeat(".of-all-customers", 5) }
	fails, paused, holds, replica := long("fails"), long("paused"), long("holds"), "replica-"+strings.Repeat("0123456789", 8)
	url := "http://127.0.0.1:1/" + strings.Repeat("reports/", 40) + "end"
	why := "moved until the invoices of " + strings.Repeat("all customers and ", 25) + "everybody are sent"
	servers := redistest.StartN(t, 3)
	config := writeConfig(t, servers, `jobs:
  `+fails+`: {func: http, schedule: "@yearly", params: {url: "`+url+`"}}
  `+paused+`: {func: exec, schedule: "@every 1s", params: {command: ["true"]}}
  `+holds+`: {func: exec, schedule: "@yearly", params: {command: [sleep, "600"]}}
`)
	initNew(t, config)
	r := campaigntest.Start(t, config, replica, "--set", "scheduler/drain_timeout=100ms")
	store := operator{t, []string{"-c", config, "--set", "redis/node_timeout=700ms"}}
	eventually(t, "the replica serves", func() bool {
		out, _, code := store.quorate("jobs", "-o", "json")
		return code == exitDone && strings.Count(out, `"live": true`) == 3
	})
	store.exits(exitDone, "", "pause", paused, "--reason", why)
	store.exits(exitDone, "", "trigger", holds, "--reason", why)
	store.exits(exitDone, "", "trigger", fails, "--reason", why)
	eventually(t, "a run fails, one goes on, and a tick is skipped", func() bool {
		failed, running := ask[view.Run](store, "runs", fails), ask[view.Lock](store, "locks")
		return len(failed) == 1 && failed[0].Outcome == "failed" && len(running) == 1 && len(ask[view.Tick](store, "ticks", paused, "--outcome", "skipped")) > 0
	})
	eventually(t, "the replica says that it runs the job", func() bool { return len(ask[view.Replica](store, "replicas")[0].Running) == 1 })
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"ticks", []string{fails, paused, holds, replica, url, why}},
		{"ticks " + paused, []string{replica, why}},
		{"ticks --outcome failed", []string{fails, replica, url}},
		{"runs", []string{fails, holds, replica, url}},
		{"top", []string{fails, holds, paused, replica, url}},
		{"top --once", []string{fails, holds, paused, replica, url}},
		{"jobs", []string{fails, holds, paused}},
		{"next", []string{paused}},
		{"replicas", []string{replica, holds}},
		{"audit", []string{fails, holds, paused, why}},
		{"pauses", []string{paused, why}},
		{"locks", []string{holds, replica}},
		{"nodes", []string{servers[0].Addr()}},
	} {
		out := piped(t, append(strings.Fields(tt.args), store.flags...)...)
		for _, word := range tt.want {
			if !strings.Contains(out, word) {
				t.Errorf("%s lacks %s:\n%s", tt.args, word, out)
			}
		}
		if strings.ContainsAny(out, "…\x1b\r") {
			t.Errorf("%s cuts, or has escapes: %q", tt.args, out)
		}
	}
	r.Signal(syscall.SIGTERM)
	r.ExitCode()
}
