package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	app := cmd.App{Registry: registry(), In: strings.NewReader(""), Out: &out, Err: &errs}
	if code := app.Exec(t.Context(), []string{"validate", "-c", "config.yaml"}); code != 0 {
		t.Errorf("exit code %d: %s", code, &errs)
	}

	text, err := os.ReadFile("config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	misspelt := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(misspelt, bytes.Replace(text, []byte("name:"), []byte("nmae:"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := app.Exec(t.Context(), []string{"validate", "-c", misspelt}); code != 2 || !strings.Contains(errs.String(), ":7:14: ") {
		t.Errorf("exit code %d, want 2 and the place of the mistake: %s", code, &errs)
	}
}

// TestDev runs the configuration on embedded nodes until a tick has run.
func TestDev(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &stopper{text: "succeeded", stop: cancel}
	var errs bytes.Buffer
	app := cmd.App{Registry: registry(), In: strings.NewReader(""), Out: out, Err: &errs}
	if code := app.Exec(ctx, []string{"dev", "-c", "config.yaml", "--nodes", "3"}); code != 0 {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	// On a busy machine a node may answer too late, so that its vote is missing.
	for _, want := range []string{"for development only", "greet-world", "[23]/[23]"} {
		if !regexp.MustCompile(want).MatchString(out.b.String()) {
			t.Errorf("no %q in:\n%s", want, &out.b)
		}
	}
}

// A stopper ends the command when its output holds a text. One goroutine writes.
type stopper struct {
	b    strings.Builder
	text string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	s.b.Write(p)
	if strings.Contains(s.b.String(), s.text) {
		s.stop()
	}
	return len(p), nil
}
