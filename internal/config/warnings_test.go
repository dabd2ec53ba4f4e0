package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/replica/settings"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	warnings := func(text string) (string, []settings.Problem) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte("redis: {nodes: [redis://127.0.0.1:7101]}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
		if err != nil {
			t.Fatal(err)
		}
		return file, cfg.Warnings()
	}
	for text, want := range map[string]string{
		"":        ":1:1: jobs: warning: the configuration has no jobs",
		"jobs:\n": ":2:1: jobs: warning: the configuration has no jobs",
		"jobs:\n  b: {func: report, schedule: \"@daily\"}\n  a:\n    func: report\n    schedule: \"@daily\"\n    overlap: allow\n":  ":7:14: jobs.a.overlap: warning: ",
		"http:\n  listen: 192.0.2.1:8080\njobs: {a: {func: report, schedule: \"@daily\"}}\n":                                        ":3:11: http.listen: warning: passwords and tokens",
		"defaults: {overlap: allow}\njobs:\n  a: {func: report, schedule: \"@daily\"}\n  b: {func: report, schedule: \"@daily\"}\n": ":2:21: defaults.overlap: warning: ",
	} {
		if file, list := warnings(text); len(list) != 1 || !strings.HasPrefix(list[0].String(), file+want) {
			t.Errorf("%s\nwarnings = %v, want %s", text, list, want)
		}
	}
}

// References that nothing resolves here are warned of, and stop nothing: the secrets may be
// elsewhere. What is resolved is checked.
func TestReferencesAreWarnedOf(t *testing.T) {
	t.Setenv("T_BAD_URL", "no-scheme.example.com/s3cret")
	t.Setenv("T_TWO_LINES", "s3cret\nx")
	file := write(t, `redis: {nodes: [redis://h]}
webhooks:
  - url: https://h/${env:T_MISSING}
    events: [failed]
    headers: {Authorization: "Bearer ${file:/missing/file}"}
    secret: ${env:T_MISSING}
jobs:
  report:
    func: report
    schedule: "@daily"
    params: {customer: "${env:T_MISSING} ${env:-x} $${env:T_MISSING}"}
`)
	cfg, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range cfg.Unresolved() {
		got = append(got, w.String())
	}
	const unset = "warning: ${env:T_MISSING}: the environment variable is not set; set it, or change the reference"
	want := []string{
		file + ":3:10: webhooks[0].url: " + unset,
		file + ":5:30: webhooks[0].headers.Authorization: warning: ${file:/missing/file}: open /missing/file: no such file or directory; create the file, or change the reference",
		file + ":6:13: webhooks[0].secret: " + unset,
		file + ":11:24: jobs.report.params.customer: " + unset,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if all := cfg.Warnings(); len(all) != 4 {
		t.Errorf("all warnings: %v", all)
	}

	file = write(t, `redis: {nodes: [redis://h]}
webhooks:
  - {url: "${env:T_BAD_URL}", events: [failed], headers: {"a b": x, C: "${env:T_TWO_LINES}", D: "x\ny"}}
jobs:
  report: {func: report, schedule: "@daily"}
`)
	_, err = Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
	for _, want := range []string{
		file + ":3:11: webhooks[0].url: is no address that can be posted to", `webhooks[0].headers."a b": is no header name`,
		"webhooks[0].headers.C: has a line break", "webhooks[0].headers.D: has a line break",
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

// As of mistakes, twenty are shown and the others counted.
func TestManyWarningsAreCounted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := []byte("redis: {nodes: [redis://127.0.0.1:7101]}\njobs:\n")
	for i := range 100 {
		text = fmt.Appendf(text, "  job%d: {func: exec, schedule: \"@daily\", overlap: allow, params: {command: [\"${env:QUORATE_TEST_MISSING}\"]}}\n", i)
	}
	rewrite(t, file, text)
	cfg, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	for want, list := range map[string][]settings.Problem{"and 180 more warnings": cfg.Warnings(), "and 80 more warnings": cfg.Unresolved()} {
		if len(list) != settings.MostShown+1 || list[settings.MostShown].String() != want {
			t.Errorf("%d warnings; the last: %s", len(list), list[len(list)-1])
		}
	}
}
