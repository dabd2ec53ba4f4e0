package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportCrontab(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct {
		name, text string
		args       []string
		code       int
		out, errs  string // parts of the output; an empty out is no output
	}{
		{"all", "0 2 * * * report\n", []string{"--timezone", "Europe/Paris"}, exitDone, "  report:\n", ""},
		{"no zone", "0 2 * * * report\n", nil, exitDone, "timezone: UTC", "quorate: schedules are in UTC"},
		{"one left out", "0 2 * * * report\n@reboot x\n", nil, exitFailed, "  report:\n", "standard input:2:1: left out: @reboot"},
		{"user column", "0 2 * * * root report\n", []string{"--system"}, exitDone, "labels: {user: root}", "jobs of user root"},
		{"user column, not announced", "0 2 * * * root php report\n", nil, exitUsage, "", "standard input:1:11: root is a user: if the crontab names one"},
		{"a command called root", "0 2 * * * root php report\n", []string{"--system=false"}, exitDone, "- root php report", ""},
		{"a command with options", "0 2 * * * root --report\n", nil, exitDone, "- root --report", ""},
		{"mistake", "0 2 * * * report\n0 25 * * * x\n", nil, exitUsage, "", "standard input:2:3: has a bad hour field"},
		{"empty", "# nothing\n", nil, exitFailed, "", "no line to convert"},
		{"bad zone", "0 2 * * * report\n", []string{"--timezone", "Nowhere"}, exitUsage, "", "--timezone: unknown time zone"},
	} {
		var out, errs bytes.Buffer
		app := App{Registry: builtins(), In: strings.NewReader(tc.text), Out: &out, Err: &errs}
		code := app.Exec(t.Context(), append([]string{"import", "crontab", "-"}, tc.args...))
		if code != tc.code || !strings.Contains(out.String(), tc.out) || (tc.out == "") != (out.Len() == 0) || !strings.Contains(errs.String(), tc.errs) {
			t.Errorf("%s: code %d\n%s\n%s", tc.name, code, &out, &errs)
		}
		if tc.out == "" {
			continue
		}
		file := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if code := app.Exec(t.Context(), []string{"validate", "--config", file}); code != exitDone {
			t.Errorf("%s: quorate validate refuses it: %s", tc.name, &errs)
		}
	}
}

func TestImportReadsFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tab")
	if err := os.WriteFile(file, []byte("0 25 * * * x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: file + ":1:3: has a bad hour field", file + "x": "no such file"} {
		var errs bytes.Buffer
		(App{Registry: builtins(), Out: &errs, Err: &errs}).Exec(t.Context(), []string{"import", "crontab", path})
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %s, want %s", path, &errs, want)
		}
	}
	for path, system := range map[string]bool{"/etc/crontab": true, "/etc/cron.d/php": true, "/var/spool/cron/crontabs/ann": false} {
		if isSystem(path) != system {
			t.Errorf("%s: system is %v", path, !system)
		}
	}
}
