package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// newTree is a repository with one commit, of a Makefile with these targets.
func newTree(t *testing.T, targets string) *tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"Makefile": targets, ".gitignore": "bin\n", "code/a.go": "package a\n", results + "/.keep": ""} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, root, "init", "-q")
	commit(t, root)
	tree, err := openTree(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	tree.out = t.Output()
	return tree
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, output)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "a change")
}

func page(t *testing.T, tree *tree, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree.root, results, name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A page says what ran, and has no path of the machine. A part that fails has a page, too.
func TestPages(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "good:\n\t@echo figures at $(CURDIR)/x.go 7; echo === RUN\nbad:\n\t@echo why; false\n")
	good := part{name: "mutants", target: "good", drop: verbose}
	bad := part{name: "sim", target: "bad", load: computes, drop: verbose}
	err := tree.run(t.Context(), []part{good, bad})
	if err == nil || !strings.Contains(err.Error(), "sim failed") || strings.Contains(err.Error(), "mutants") {
		t.Errorf("run = %v, want the failed part alone", err)
	}
	text := page(t, tree, "mutants")
	if !strings.Contains(text, "\nfigures at x.go 7\n") || strings.Contains(text, "===") || strings.Contains(text, tree.root) {
		t.Errorf("the page is\n%s", text)
	}
	h, err := tree.read(good)
	if err != nil || h.Result != "passed" || h.Commit != tree.begunAt || h.Command != "make good" || len(h.Load) != 2 {
		t.Errorf("its head is %+v, %v", h, err)
	}
	if h, err := tree.read(bad); err != nil || h.Result != "FAILED" || !strings.Contains(page(t, tree, "sim"), "why\n") {
		t.Errorf("the head of the failed part is %+v, %v", h, err)
	}
}

// A page of a failure has its first lines.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "long:\n\t@seq 1000\n")
	if err := tree.run(t.Context(), []part{{name: "sim", target: "long"}}); err != nil {
		t.Fatal(err)
	}
	if text := page(t, tree, "sim"); !strings.Contains(text, "\n300\n… and 700 lines more\n") {
		t.Errorf("the page is\n%s", text)
	}
}

// The index tells which pages are older than the code they speak for.
func TestIndex(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "good:\n\t@true\n")
	for _, p := range []part{{name: "mutants", target: "good"}, {name: "sim", target: "good"}} {
		if err := tree.run(t.Context(), []part{p}); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() map[string]string {
		t.Helper()
		text, err := tree.index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for line := range strings.Lines(text) {
			if cells := strings.Split(line, "|"); len(cells) > 5 {
				all[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2]) + "; " + strings.TrimSpace(cells[5])
			}
		}
		return all
	}
	if got := rows()["[mutants](mutants.md)"]; got != "passed; nothing" {
		t.Errorf("right after a run: %q", got)
	}
	if got := rows()["bench"]; got != "no page; " {
		t.Errorf("without a page: %q", got)
	}
	// Their code is among the folders of the product.
	path := filepath.Join(tree.root, "scheduler", "a.go")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commit(t, tree.root)
	if got := rows()["[sim](sim.md)"]; !strings.HasSuffix(got, "1 file") {
		t.Errorf("after a change of its code: %q", got)
	}
}

// A part whose tests have other names by now has shown nothing.
func TestPartWithoutTests(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "sim:\n\t@echo 'ok  sim 0.1s [no tests to run]'\n")
	err := tree.run(t.Context(), []part{{name: "sim", target: "sim"}})
	if err == nil || !strings.Contains(err.Error(), "no test ran") || !strings.Contains(page(t, tree, "sim"), "result: FAILED") {
		t.Errorf("run = %v, and the page is\n%s", err, page(t, tree, "sim"))
	}
}

// Nothing runs beside what measures.
func TestBenchmarksRunAlone(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "one two three:\n\t@true\n")
	var told bytes.Buffer
	tree.out = &told
	err := tree.run(t.Context(), []part{
		{name: "bench", target: "one", load: measures}, {name: "sim", target: "two", load: computes}, {name: "etcd", target: "three"},
	})
	if err != nil {
		t.Fatal(err)
	}
	others, bench, found := strings.Cut(told.String(), "bench: begins")
	if !found || strings.Count(others, "passed") != 2 || strings.Count(bench, "passed") != 1 {
		t.Errorf("it ran so:\n%s", &told)
	}
}

// Parts get the variables of make, and their pages tell them.
func TestVariables(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "seeds:\n\t@echo $(SEEDS) seeds\n")
	sim := part{name: "sim", target: "seeds"}
	if err := tree.run(t.Context(), []part{sim}, "SEEDS=7"); err != nil {
		t.Fatal(err)
	}
	if h, err := tree.read(sim); err != nil || h.Command != "make seeds SEEDS=7" || !strings.Contains(page(t, tree, "sim"), "\n7 seeds\n") {
		t.Errorf("the page is\n%s", page(t, tree, "sim"))
	}
}

// An interrupted part ends with all that it has started, and leaves the page of its last run.
func TestInterruptedPartHasNoPage(t *testing.T) {
	t.Parallel()
	tree := newTree(t, "hangs:\n\t@echo >bin/begun; cat bin/never\n")
	pipe := func(name string) string {
		path := filepath.Join(tree.root, "bin", name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Mkdir(filepath.Join(tree.root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	begun := pipe("begun")
	pipe("never")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- tree.run(ctx, []part{{name: "sim", target: "hangs"}}) }()
	if _, err := os.ReadFile(begun); err != nil { // waits for the part
		t.Fatal(err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("run = %v", err)
	}
	if _, err := os.Stat(filepath.Join(tree.root, results, "sim.md")); !os.IsNotExist(err) {
		t.Errorf("there is a page: %v", err)
	}
}

// Parts have a target, and speak for folders that exist. Every night each runs in a job of its own.
func TestParts(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		for target := range strings.FieldsSeq(p.target) {
			if !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s makes %s, which the Makefile has not", p.name, target)
			}
		}
		for _, path := range p.code {
			if _, err := os.Stat("../../" + path); err != nil {
				t.Errorf("%s speaks for %s: %v", p.name, path, err)
			}
		}
	}
	if !slices.Contains(partNames(), "models") {
		t.Error("a release does not search the models to the end")
	}
	// Never cut, however long they take.
	for _, name := range []string{"promotions", "campaign", "etcd", "zookeeper", "race", "model", "sim", "mutants", "upgrade"} {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name && p.proves }) {
			t.Errorf("%s is no part of a proof", name)
		}
	}
	text, err := os.ReadFile("../../.github/workflows/full.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Strategy struct{ Matrix struct{ Part []string } }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range parts {
		if p.needs == "" {
			want = append(want, p.name)
		}
	}
	if got := workflow.Jobs["part"].Strategy.Matrix.Part; !slices.Equal(got, want) {
		t.Errorf("every night it runs\n%q, want\n%q", got, want)
	}
}

// Parts are chosen by name.
func TestChoose(t *testing.T) {
	t.Parallel()
	if list, err := choose([]string{"sim", "mutants"}, false); err != nil || len(list) != 2 {
		t.Errorf("two parts: %v, %v", list, err)
	}
	if _, err := choose([]string{"sim", "simm"}, false); err == nil || !strings.Contains(err.Error(), "promotions") {
		t.Errorf("a part that does not exist: %v", err)
	}
	proof, err := choose(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if full, err := choose(nil, true); err != nil || len(full) <= len(proof) {
		t.Errorf("all are %d parts, those of a proof %d: %v", len(full), len(proof), err)
	}
	// The tests run without plants, too: here if the part is alone, else in others.
	alone, _ := choose([]string{"mutants"}, false)
	if got := alone[0].target; got != "mutants" {
		t.Errorf("alone it makes %q", got)
	}
	if !slices.ContainsFunc(proof, func(p part) bool { return p.target == "mutants CLEAN=no" }) {
		t.Error("in a proof, tests run twice without plants")
	}
}

// A lane that is done takes the last part of the other one; nothing runs beside what measures.
func TestLanes(t *testing.T) {
	t.Parallel()
	l := newLanes([]part{{name: "w1", load: waits}, {name: "c1", load: computes}, {name: "c2", load: computes}, {name: "c3", load: computes}, {name: "m", load: measures}})
	var got []string
	for _, of := range []load{waits, computes, waits, waits, computes, measures, measures} {
		if p, ok := l.take(of, map[load]load{waits: computes, computes: waits, measures: measures}[of]); ok {
			got = append(got, p.name)
		}
	}
	if want := []string{"w1", "c1", "c3", "c2", "m"}; !slices.Equal(got, want) {
		t.Errorf("taken: %q, want %q", got, want)
	}
}
