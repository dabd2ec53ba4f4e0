package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
)

// What a run logs and fails with hides the secrets of the replica, also when they
// change while it serves; short ones would spoil the text.
func TestSecretsOfTheReplicaAreMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		password := "first-password"
		withheld := &jobs.Withheld{Values: func() []string { return []string{password, "short", "line one\nline two of a key"} }}
		r := jobs.NewRegistry()
		say := ""
		jobs.Register(r, "f", func(_ context.Context, run jobs.Run, _ jobs.NoParams) error {
			run.Logger.With("with", say).Info("said "+say, "any", errors.New(say), slog.Group("g", "inner", say))
			return fmt.Errorf("failed: %s", say)
		})
		h, err := r.Bind("f", nil, jobs.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		h = withheld.Middleware(h)
		call := func(text string) string {
			var log bytes.Buffer
			say = text
			err := h(t.Context(), jobs.Run{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			return log.String() + err.Error()
		}
		if got := call("first-password; line two of a key"); strings.Contains(got, "first-password") || strings.Contains(got, "line two") || !strings.Contains(got, "failed: ***; ***") {
			t.Errorf("logged %s", got)
		}
		if got := call("short"); strings.Count(got, "short") != 5 {
			t.Errorf("a short secret spoils the text: %s", got)
		}
		h = withheld.Middleware(func(context.Context, jobs.Run) error { panic("with the first-password") })
		if got := call(""); strings.Contains(got, "first-password") || !strings.Contains(got, "panic: with the ***") {
			t.Errorf("a panic says %s", got)
		}
		h = withheld.Middleware(func(context.Context, jobs.Run) error { return errors.New(say) })
		password = "second-password"
		time.Sleep(10 * time.Second)
		if got := call("second-password"); strings.Contains(got, "second-password") {
			t.Errorf("a secret that was changed: %s", got)
		}
	})
}

// Commands inherit neither settings of the replica nor variables that hold its secrets.
func TestEnviron(t *testing.T) {
	t.Setenv("QUORATE_TEST_SETTING", "x")
	t.Setenv("TEST_REDIS_PASSWORD", "hunter2hunter2")
	t.Setenv("TEST_REDIS_PASSWORD_2", "kept")
	var got []string
	withheld := &jobs.Withheld{Variables: []string{"TEST_REDIS_PASSWORD"}}
	h := withheld.Middleware(func(_ context.Context, run jobs.Run) error {
		got = run.Environ()
		return nil
	})
	if err := h(t.Context(), jobs.Run{}); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		variable string
		want     bool
	}{{"TEST_REDIS_PASSWORD=hunter2hunter2", false}, {"TEST_REDIS_PASSWORD_2=kept", true}, {"QUORATE_TEST_SETTING=x", false}} {
		if slices.Contains(got, one.variable) != one.want {
			t.Errorf("%s: %v, want %v", one.variable, !one.want, one.want)
		}
	}
	if len(jobs.Run{}.Environ()) < len(got) {
		t.Error("a run without a replica has a smaller environment")
	}
}
