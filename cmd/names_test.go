package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuggestions: a misspelt command is answered with the one that was meant.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"tick"}, `unknown command "tick": did you mean ticks?`},
		{[]string{"replcias"}, `unknown command "replcias": did you mean replicas?`},
		{[]string{"nodes", "chnge"}, `unexpected "chnge": did you mean change?`},
		{[]string{"jobs", "forgt"}, `unexpected "forgt": did you mean forget?`},
	} {
		if _, stderr, code := quorate(t, tc.args...); code != exitUsage || !strings.Contains(stderr, tc.want) {
			t.Errorf("quorate %v: exit code %d, %s, want %s", tc.args, code, stderr, tc.want)
		}
	}
	if _, stderr, _ := quorate(t, "xyzzy"); strings.Contains(stderr, "did you mean") {
		t.Errorf("a word like no command is answered with %s", stderr)
	}
}

// TestVersionFlag: --version prints the same as the command version.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	want, _, _ := quorate(t, "version")
	if got, stderr, code := quorate(t, "--version"); code != exitDone || got != want {
		t.Errorf("quorate --version: exit code %d, %q%s, want %q", code, got, stderr, want)
	}
}

// TestOwnBinaryHasItsOwnName: help, completion and advice of a binary with
// functions of its own name that binary.
func TestOwnBinaryHasItsOwnName(t *testing.T) {
	t.Parallel()
	billing := func(args ...string) string {
		var out bytes.Buffer
		App{Name: "billing", Registry: builtins(), In: strings.NewReader(""), Out: &out, Err: &out}.Exec(t.Context(), args)
		return out.String()
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--help"}, "  billing validate --config prod.yaml"},
		{[]string{"ticks", "--help"}, "  billing ticks nightly-report"},
		{[]string{"pause", "--help"}, "billing cancel ends them"},
		{[]string{"completion", "bash"}, "bash completion V2 for billing "},
		{[]string{"trigger"}, "billing: accepts 1 arg(s), received 0; write billing trigger JOB, or see billing trigger --help"},
		{[]string{"version"}, "billing "},
		{[]string{"next", "nosuch", "-c", "../config.yaml"}, "billing next without a name lists all"},
	} {
		got := billing(tc.args...)
		if !strings.Contains(got, tc.want) {
			t.Errorf("billing %v prints\n%s, want %q", tc.args, got, tc.want)
		}
		if strings.Contains(got, "quorate "+tc.args[0]) {
			t.Errorf("billing %v calls itself quorate:\n%s", tc.args, got)
		}
	}
}

// TestCompletion: names of jobs come from the configuration, values of flags from their
// types.
func TestCompletion(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("redis: {nodes: [\"redis://127.0.0.1:1\"]}\n"+
		"jobs: {nightly: {func: own, schedule: \"@daily\", tags: [finance, mail]}, hourly: {func: own, schedule: \"@hourly\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args  []string
		want  []string
		never string
	}{
		{[]string{"ticks", "-c", config, ""}, []string{"nightly\n", "hourly\n"}, ""},
		{[]string{"trigger", "-c", config, "ni"}, []string{"nightly\n"}, "hourly"},
		{[]string{"locks", "release", "-c", config, ""}, []string{"nightly\n"}, ""},
		{[]string{"explain", "-c", config, "--job", ""}, []string{"nightly\n"}, ""},
		{[]string{"ticks", "-c", config, "nightly", ""}, nil, "hourly"},
		{[]string{"ticks", "-c", config + ".missing", ""}, nil, "nightly"},
		{[]string{"ticks", "--outcome", ""}, []string{"missed\n", "timed_out\n"}, ""},
		{[]string{"ticks", "--outcome", "failed,mis"}, []string{"failed,missed\n"}, "timed_out"},
		{[]string{"pause", "-c", config, "--tag", ""}, []string{"finance\n", "mail\n"}, ""},
		{[]string{"resume", "-c", config, "--tag", "fi"}, []string{"finance\n"}, "mail"},
		{[]string{"pause", "-c", config, "--reason", ""}, nil, "finance"},
		{[]string{"runs", "--trigger", ""}, []string{"schedule\n", "manual\n"}, ""},
	} {
		got, _, _ := quorate(t, append([]string{"__complete"}, tc.args...)...)
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("completing %v offers\n%s, want %q", tc.args, got, want)
			}
		}
		if tc.never != "" && strings.Contains(got, tc.never) || !strings.Contains(got, ":4") {
			t.Errorf("completing %v offers\n%s, want no %q and no files", tc.args, got, tc.never)
		}
	}
}

// TestValidateForAnotherBinary: a function of somebody's own binary is unknown to
// this one, which says where it is known.
func TestValidateForAnotherBinary(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("redis: {nodes: [\"redis://127.0.0.1:1\"]}\njobs: {a: {func: invoices, schedule: \"@daily\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := quorate(t, "validate", "-c", config)
	want := `unknown function "invoices": known: exec, http; if another binary registers it, check the configuration with that binary`
	if code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d: %s, want %s", code, stderr, want)
	}
}
