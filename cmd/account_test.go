package cmd

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestAccount: a run's log, its selection, following it, and ticks without a replica.
func TestAccount(t *testing.T) {
	servers := redistest.StartN(t, 3)
	config := writeConfig(t, servers, `jobs:
  say: {func: exec, schedule: "@every 1s", params: {command: [sh, -c, "echo said; exit 3"]}, history: {keep: 50}}
`)
	if _, stderr, code := quorate(t, "store", "init", "-c", config); code != exitDone {
		t.Fatal(stderr)
	}
	p := campaigntest.Start(t, config, "a")
	p.AwaitLog("run ended")

	// Follow until three runs have ended.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &waitingBuffer{enough: func(s string) bool { return strings.Count(s, `"outcome":"failed"`) >= 3 }, then: cancel}
	if code := (App{Out: out, Err: out}).Exec(ctx, []string{"runs", "say", "--follow", "-o", "json", "-c", config}); code != exitDone {
		t.Errorf("runs --follow: exit code %d\n%s", code, out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if seen[line] {
			t.Errorf("the row comes twice: %s", line)
		}
		seen[line] = true
	}

	stdout, stderr, code := quorate(t, "logs", "say", "-c", config)
	if code != exitDone || !strings.Contains("\n"+stdout, "\nsaid\n") || strings.Contains(stdout, "msg=") {
		t.Errorf("logs: %d %s%s", code, stdout, stderr)
	}
	if full, _, _ := quorate(t, "logs", "say", "--full", "-c", config); !strings.Contains(full, "msg=output stream=stdout line=said") {
		t.Errorf("logs --full: %s", full)
	}
	if _, stderr, code := quorate(t, "logs", "say", "2020-01-01T00:00:00Z", "-c", config); code != exitNotFound {
		t.Errorf("logs of no run: %d %s", code, stderr)
	}
	if rows := list[view.Run](t, "runs", "--outcome", "succeeded", "--since", "1h", "-o", "json", "-c", config); len(rows) != 0 {
		t.Errorf("runs --outcome succeeded lists %+v", rows)
	}
	if rows := list[view.Log](t, "logs", "say", "-o", "json", "-c", config); len(rows) != 1 || rows[0].Outcome != "failed" {
		t.Errorf("logs -o json: %+v", rows)
	}

	p.Signal(syscall.SIGTERM)
	<-p.Exited
	deadline := time.Now().Add(30 * time.Second)
	for {
		rows := list[view.Tick](t, "ticks", "say", "-o", "json", "-c", config)
		if len(rows) > 3 && !rows[0].Recorded && !rows[1].Recorded && *rows[0].Code == ledger.CodeNoReplica {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no tick is computed while no replica is running: %+v", rows[:min(len(rows), 3)])
		}
		<-time.After(100 * time.Millisecond)
	}
	// The served schedule counts, not the one in the local file.
	rows := list[view.Tick](t, "ticks", "say", "-o", "json", "-c", config, "--set", "jobs/say/schedule=@every 1h")
	if len(rows) < 2 || rows[0].Recorded || rows[1].Recorded {
		t.Errorf("not computed from the schedule that was served: %+v", rows[:min(len(rows), 2)])
	}
}

// waitingBuffer calls then once it holds enough.
type waitingBuffer struct {
	text   bytes.Buffer
	enough func(string) bool
	then   func()
}

func (w *waitingBuffer) String() string { return w.text.String() }

func (w *waitingBuffer) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if w.enough(w.String()) {
		w.then()
	}
	return n, err
}
