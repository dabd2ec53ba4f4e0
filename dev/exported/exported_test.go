package exported

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var write = flag.Bool("write", false, "write exported.txt anew")

// The public API changes on purpose only, and stays small.
func TestExported(t *testing.T) {
	t.Parallel()
	got, err := List(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile("exported.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("exported.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, now := lines(string(want)), lines(got)
	for line := range now {
		if !known[line] {
			t.Errorf("new: %s", line)
		}
	}
	for line := range known {
		if !now[line] {
			t.Errorf("gone: %s", line)
		}
	}
	if t.Failed() {
		t.Error("if that is meant, run make exported, and say it in the CHANGELOG")
	}
	if n := count(got); n > 267 {
		t.Errorf("%d types and functions are exported, want at most 267", n)
	}
}

// lines returns the lines of the list, each with its package.
func lines(list string) map[string]bool {
	all, pkg := map[string]bool{}, ""
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "package "); ok {
			pkg = name
		} else if line != "" {
			all[pkg+": "+line] = true
		}
	}
	return all
}

// count returns how many types and functions there are outside kits for tests.
func count(list string) int {
	n := 0
	for section := range strings.SplitSeq(list, "package ") {
		if name, _, _ := strings.Cut(section, "\n"); !strings.HasSuffix(name, "test") {
			n += len(regexp.MustCompile(`(?m)^(func|type) [A-Z]`).FindAllString(section, -1))
		}
	}
	return n
}

func TestList(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := List(fstest.MapFS{
		"a/a.go": file("// Package a is.\npackage a\nimport \"io\"\n// T is.\ntype T struct { A, b int; io.Reader }\n" +
			"func (t *T) M(x int) int { return x }\nfunc (t T) m() {}\ntype u int\nfunc (u) M() {}\nconst C, d = 1, 2\nvar V = f()\n"),
		"a/a_test.go":     file("package a\nfunc F() {}\n"),
		"a/b.go":          file("package a\nimport \"github.com/quorate/quorate/internal/b\"\ntype B = b.B\n"),
		"internal/b/b.go": file("package b\nfunc F() {}\ntype B struct { A, b int }\nfunc (B) M() {}\nfunc (C) M() {}\n"),
		"cmd/c/c.go":      file("package main\nfunc F() {}\n"),
	})
	want := "package a\n\nconst C = 1, 2\nfunc (*T) M(x int) int\nfunc (B) M()\ntype B struct{ A int }\ntype T struct {\n\tA int\n\tio.Reader\n}\nvar V = f()\n\n"
	if err != nil || got != want {
		t.Errorf("List = %q, %v, want %q", got, err, want)
	}
}
