package cmd

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
)

// blocksOf returns the code blocks of a page in the language.
func blocksOf(t *testing.T, page, language string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1) {
		all = append(all, m[1])
	}
	return all
}

// readText reads a configuration as `quorate validate` does.
func readText(t *testing.T, text string, registry *jobs.Registry) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(config.Source{Path: file, Environ: []string{}}, registry)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cfg
}

// TestComingFromConfigurations validates the configurations in docs/coming-from.
func TestComingFromConfigurations(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/coming-from/*.md")
	if err != nil {
		t.Fatal(err)
	}
	registry := builtins()
	for _, name := range []string{"cleanup", "report"} {
		jobs.Register(registry, name, func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	}
	found := 0
	for _, page := range pages {
		for _, text := range blocksOf(t, page, "yaml") {
			if strings.HasPrefix(text, "apiVersion: ") {
				continue
			}
			found++
			readText(t, text, registry)
		}
	}
	if found != 3 {
		t.Errorf("found %d configurations, want those of three pages", found)
	}
}

// TestComingFromCrontab imports the crontab of the page, and wants the page's result.
func TestComingFromCrontab(t *testing.T) {
	t.Parallel()
	page := "../docs/coming-from/crontab.md"
	before, after := blocksOf(t, page, "crontab"), blocksOf(t, page, "yaml")
	file := filepath.Join(t.TempDir(), "tab")
	if err := os.WriteFile(file, []byte(before[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := quorate(t, "import", "crontab", file, "--timezone", "Europe/Paris")
	if code != exitDone || errs != "" {
		t.Fatalf("code %d: %s", code, errs)
	}
	got, want := readText(t, out, builtins()), readText(t, after[0], builtins())
	if !reflect.DeepEqual(got.Shown(), want.Shown()) {
		t.Errorf("the import writes\n%s\nand the page shows\n%s", out, after[0])
	}
}
