package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := `redis: {nodes: [redis://127.0.0.1:7101]}
jobs:
  b: {func: report, schedule: "@daily"}
  a:
    func: report
    schedule: "@daily"
    overlap: allow
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Read(Source{Path: file, Environ: []string{}}, newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	list := cfg.Warnings()
	if len(list) != 1 || !strings.HasPrefix(list[0].String(), file+":7:14: jobs.a.overlap: warning: ") {
		t.Errorf("warnings = %v", list)
	}
}
