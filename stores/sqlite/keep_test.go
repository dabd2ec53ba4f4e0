package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
)

// A trial that is begun again with the same file knows its history, and waits for no grace.
func TestDevKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, kept := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "trial.db")
	write(t, config, "sqlite: {path: trial.db}\nhttp: {listen: \"127.0.0.1:0\"}\njobs: {tick: {func: tick, schedule: \"@every 1s\"}}\n")
	var ends []context.CancelFunc // of the programs, in order
	registry := jobs.NewRegistry()
	jobs.Register(registry, "tick", func(context.Context, jobs.Run, jobs.NoParams) error {
		ends[len(ends)-1]()
		return nil
	})
	run := func(args ...string) string {
		t.Helper()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		ends = append(ends, end)
		var out bytes.Buffer
		app := cmd.App{Registry: registry, Stores: []replica.Store{new(Store)}, Out: &out, Err: &out}
		if code := app.Exec(ctx, append(args, "-c", config)); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &out)
		}
		return out.String()
	}
	for range 2 {
		if text := run("dev", "--keep", kept); !strings.Contains(text, "the file "+kept) {
			t.Errorf("the file is not named: %s", text)
		}
	}
	if text := run("runs"); strings.Count(text, "succeeded") != 2 {
		t.Errorf("the history has not two runs: %s", text)
	}
	if _, err := os.Stat(kept + walEnd); err != nil {
		t.Error(err)
	}
}
