package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const wholeFile = `namespace: shop
redis:
  nodes: [redis://127.0.0.1:7101]
jobs:
  backup:
    func: exec
    schedule: "0 3 * * *"
    timeout: 30m
    params: {command: [date]}
  report:
    func: exec
    schedule: 0 4 * * 1-5
    description: |
      of the day
    params:
      command:
        - date
        - -u
  mail:
    func: exec
    schedule: "@daily"
    params: {command: [date]}
    timezone: UTC
defaults:
  timeout: 20m
webhooks:
  - url: https://hooks.example.com/x
    events: [failed, missed]
`

// A file that is written anew, with whatever changes, is taken at none of its bytes if settings
// would be lost with what is still to come.
func TestCutOff(t *testing.T) {
	t.Parallel()
	registry := newRegistry(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	read := func(text string) (*Config, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Read(Source{Path: file, Environ: []string{}}, registry)
	}
	for name, next := range map[string]string{
		"the same":         wholeFile,
		"a setting":        strings.Replace(wholeFile, "30m", "40m", 1),
		"a job":            strings.Replace(wholeFile, "jobs:\n", "jobs:\n  new: {func: exec, schedule: \"@daily\", params: {command: [date]}}\n", 1),
		"no section":       strings.Replace(wholeFile, "defaults:\n  timeout: 20m\n", "", 1),
		"line breaks":      strings.ReplaceAll(wholeFile, "\n", "\r\n"),
		"no last one":      strings.TrimSuffix(wholeFile, "\n"),
		"a job renamed":    strings.Replace(wholeFile, "  mail:\n", "  post:\n    formerly: mail\n", 1),
		"longer, no end":   strings.TrimSuffix(strings.Replace(wholeFile, "30m", "30m30s", 1), "\n"),
		"another last job": strings.Replace(strings.Replace(wholeFile, "  mail:\n", "  post:\n", 1), "30m", "5m", 1),
	} {
		before, err := read(wholeFile)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := read(next)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if whole.CutOff(before) != (name == "no last one" || name == "longer, no end") {
			t.Errorf("%s: the whole file: %v", name, whole.CutOff(before))
		}
		for n := range next {
			if name != "a setting" && n > 0 && next[n-1] != '\n' {
				continue // one with every byte is enough
			}
			cut, err := read(next[:n])
			if err == nil && !cut.CutOff(before) && (!reflect.DeepEqual(cut.Jobs, whole.Jobs) || !reflect.DeepEqual(cut.Defaults, whole.Defaults)) {
				t.Errorf("%s: taken until %q", name, next[max(0, n-20):n])
			}
		}
	}
	jobs, _, _ := strings.Cut(wholeFile, "defaults:")
	for name, tt := range map[string]struct {
		before, now string
		want        bool
	}{
		"in the last text":      {jobs + "    description: |\n      a\n      b\n", jobs + "    description: |\n      a\n", true},
		"a shorter last text":   {jobs + "    description: |\n      a\n      b\n", jobs + "    description: |\n      b\n", false},
		"never ended its lines": {strings.TrimSuffix(wholeFile, "\n"), strings.TrimSuffix(strings.Replace(wholeFile, "30m", "30m30s", 1), "\n"), false},
	} {
		before, err := read(tt.before)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now, err := read(tt.now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := now.CutOff(before); got != tt.want {
			t.Errorf("%s: cut off: %v", name, got)
		}
		if now.CutOff(new(Config)) || new(Config).CutOff(before) {
			t.Errorf("%s: one that is not from a file is cut off", name)
		}
	}
}
