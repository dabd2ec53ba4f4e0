package cmd

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
)

// TestMain makes the test binary be the program where tests run replicas, with the race
// detector if they have it.
func TestMain(m *testing.M) {
	if campaigntest.IsProgram() {
		registry := builtins()
		jobs.Register(registry, "write-twice", writeTwice)
		Main(registry)
	}
	// Most of the time these tests wait for processes. A -parallel that is given counts.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func builtins() *jobs.Registry {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	return registry
}

// quorate runs one command in this process.
func quorate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	app := App{Registry: builtins(), In: strings.NewReader(""), Out: &out, Err: &errs}
	code = app.Exec(t.Context(), args)
	return out.String(), errs.String(), code
}

// list runs a listing that must succeed and decodes its JSON.
func list[R any](t *testing.T, args ...string) []R {
	t.Helper()
	stdout, stderr, code := quorate(t, append(args, "-o", "json")...)
	if code != exitDone {
		t.Fatalf("quorate %v: exit code %d: %s", args, code, stderr)
	}
	var rows []R
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil {
		t.Fatalf("quorate %v: %v in %s", args, err, stdout)
	}
	return rows
}

// writeConfig writes a configuration for the servers and returns its path.
func writeConfig(t *testing.T, servers []*redistest.Server, rest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(configOf(servers)+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configOf is a configuration without jobs. Leases are short, so that a campaign sees many of
// them end.
func configOf(servers []*redistest.Server) string {
	return fmt.Sprintf(`namespace: campaign
redis:
  nodes: [%s]
  restart_grace: %s
lock: {ttl: %s, safety_margin: 1200ms}
log: {format: json}
`, strings.Join(redistest.URLs(servers), ", "), campaigntest.Grace, campaigntest.TTL)
}

// onRedis returns a campaign on the servers. The configuration has the sink as %[1]s.
func onRedis(t *testing.T, servers []*redistest.Server, rest string) *campaigntest.Campaign {
	t.Helper()
	c := campaigntest.New(t)
	c.Config = writeConfig(t, servers, fmt.Sprintf(rest, c.Sink))
	return c
}

// initNew says that the nodes of the configuration are new.
func initNew(t *testing.T, config string) {
	t.Helper()
	for tries := 1; ; tries++ {
		_, stderr, code := quorate(t, "store", "init", "-c", config)
		if code == exitDone {
			return
		}
		if tries == 20 { // nodes answer late on a busy machine
			t.Fatalf("store init: %s", stderr)
		}
	}
}

// patient returns the configuration at path for commands on a busy machine: they wait
// longer for a node than the replicas do, whose leases allow no more.
func patient(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "patient.yaml")
	if err := os.WriteFile(path, bytes.Replace(text, []byte("redis:\n"), []byte("redis:\n  node_timeout: 700ms\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// patience bounds waits that end by themselves when the code is right; it is
// no measure of anything.
const patience = 60 * time.Second

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-giveUp.C:
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// writesLines is a job that does nothing but tell the sink.
const writesLines = `
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %[1]s']}
`
