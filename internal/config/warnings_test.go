package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	warnings := func(text string) (string, []Problem) {
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
		"defaults: {overlap: allow}\njobs:\n  a: {func: report, schedule: \"@daily\"}\n  b: {func: report, schedule: \"@daily\"}\n": ":2:21: defaults.overlap: warning: ",
	} {
		if file, list := warnings(text); len(list) != 1 || !strings.HasPrefix(list[0].String(), file+want) {
			t.Errorf("%s\nwarnings = %v, want %s", text, list, want)
		}
	}
}
