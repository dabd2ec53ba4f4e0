package main

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// What is planted must fit the code, and what is to find it must be there:
// the check itself takes minutes, and would tell too late.
func TestPlantsApply(t *testing.T) {
	t.Parallel()
	seen, testsIn := map[string]bool{}, map[string][]string{}
	for _, p := range plants() {
		if seen[p.name] || len(p.name) > nameWidth {
			t.Errorf("%s: give each plant a name of its own of at most %d letters", p.name, nameWidth)
		}
		seen[p.name] = true
		dir := t.TempDir()
		for _, e := range p.edits {
			if err := copyFile(filepath.Join(root, e.file), filepath.Join(dir, e.file)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.sow(dir); err != nil {
			t.Errorf("%s: %v; adapt it to the new code", p.name, err)
		}
		for _, e := range p.edits {
			if unused := unusedImports(t, filepath.Join(dir, e.file)); len(unused) > 0 {
				t.Errorf("%s: it does not compile: %s no longer uses %q", p.name, e.file, unused)
			}
		}
		if _, read := testsIn[p.by.pkg]; !read {
			testsIn[p.by.pkg] = testsOf(t, filepath.Join(root, p.by.pkg))
		}
		for _, name := range p.by.names {
			if !slices.Contains(testsIn[p.by.pkg], name) {
				t.Errorf("%s: %s has no test %s: name the tests that see it", p.name, p.by.pkg, name)
			}
		}
	}
}

// unusedImports are the packages of the standard library that a file imports and does not name: a plant that
// removes code often leaves one.
func unusedImports(t *testing.T, path string) (unused []string) {
	t.Helper()
	if !strings.HasSuffix(path, ".go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok {
				used[of.Name] = true
			}
		}
		return true
	})
	for _, one := range file.Imports {
		name := strings.Trim(one.Path.Value, `"`)
		if one.Name == nil && !strings.Contains(name, ".") && !strings.HasSuffix(name, "/v2") && !used[name[strings.LastIndexByte(name, '/')+1:]] {
			unused = append(unused, name)
		}
	}
	return unused
}

// Each page of docs/guarantees has a promise with plants, in the words of the pages' table.
func TestGuaranteesHavePlants(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs/guarantees/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := textOf(t, "docs/guarantees/README.md")
	missing := map[string]bool{}
	for _, page := range pages {
		missing["guarantees/"+filepath.Base(page)] = true
	}
	delete(missing, "guarantees/README.md")
	for _, p := range promises() {
		row := "(" + filepath.Base(p.page) + ") | " + p.text + " |\n"
		if missing[p.page] && !strings.Contains(table, row) {
			t.Errorf("docs/guarantees/README.md has no row with %s", row)
		}
		delete(missing, p.page)
		if len(p.plants) == 0 || textOf(t, "docs/"+p.page) == "" {
			t.Errorf("%s: the promise has no plant, or no page", p.page)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no promise for %v", missing)
	}
}

// Each rule of the protocol has a plant that begins with its name.
func TestRulesHavePlants(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile(`\*\*([NCM]\d+) `).FindAllStringSubmatch(textOf(t, "locking/redlock/PROTOCOL.md"), -1) {
		if !slices.ContainsFunc(plants(), func(p plant) bool { return strings.HasPrefix(p.name, m[1]+": ") }) {
			t.Errorf("no plant breaks rule %s", m[1])
		}
	}
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testsOf(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// tiny is a module with one promise, a test of it, and three that are no good:
// one is blind, one mute, one cannot begin.
var tiny = map[string]string{
	"go.mod":  "module tiny\n\ngo 1.26\n",
	"tiny.go": "package tiny\n\n// Double returns twice n.\nfunc Double(n int) int { return 2 * n }\n",
	"tiny_test.go": `package tiny

import "testing"

func TestDouble(t *testing.T) {
	t.Run("of two", func(t *testing.T) {
		if Double(2) != 4 {
			t.Errorf("twice two is %d,\nnot four", Double(2))
		}
	})
}

func TestMute(t *testing.T) {
	if Double(2) != 4 {
		t.Fail()
	}
}

func TestUnfit(t *testing.T) {
	if Double(2) != 4 {
		t.Fatal("starting redis-server: no such file")
	}
}

func TestBlind(t *testing.T) { Double(2) }
`,
}

// The check tells plants that are caught from those that are not, for whatever
// reason, and leaves the copy clean.
func TestBite(t *testing.T) {
	t.Parallel()
	bug := func(name, old, new, test string) plant {
		return plant{name, in(".", test), []edit{{"tiny.go", old, new}}}
	}
	saying := func(p plant, says string) plant {
		p.by.says = says
		return p
	}
	list := []plant{
		bug("wrong", "2 * n", "3 * n", "TestDouble"),
		saying(bug("told", "2 * n", "3 * n", "TestDouble"), "two is 6, not four"),
		saying(bug("untold", "2 * n", "3 * n", "TestDouble"), "two is 5"),
		bug("mute", "2 * n", "3 * n", "TestMute"),
		bug("unfit", "2 * n", "3 * n", "TestUnfit"),
		bug("panic", "return 2 * n", `panic("boom")`, "TestBlind"),
		bug("unseen", "2 * n", "3 * n", "TestBlind"),
		bug("no code", "2 * n", "2 *", "TestDouble"),
		bug("gone", "4 * n", "5 * n", "TestDouble"),
		bug("twice", "Double", "Triple", "TestDouble"),
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if err := write(dir, tiny); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := bite(t.Context(), &out, dirs, list)
	for _, want := range []string{
		"unseen: survives: write a test in . that",
		`untold: TestDouble fails, but does not say "two is 5": twice two is 6, not four`,
		"mute: TestMute fails without a message", "unfit: TestUnfit could not begin",
		"panic: TestBlind dies, and does not say what is wrong: panic: boom",
		"no code: the plant does not compile", "gone: the plant no longer applies", "twice: the plant no longer applies",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	rows := strings.Fields(out.String())
	for plant, by := range map[string]string{"wrong": "TestDouble", "told": "TestDouble", "panic": "NOT", "unseen": "NOT", "gone": "NOT"} {
		if i := slices.Index(rows, plant); i < 0 || rows[i+1] != by {
			t.Errorf("%s is not followed by %s in\n%s", plant, by, &out)
		}
	}
	if !strings.Contains(out.String(), "2 of 10 caught") || strings.Count(out.String(), "  twice two is 6, not four\n") != 2 {
		t.Errorf("the table does not count two of ten, and show what the test said:\n%s", &out)
	}
	at := -1
	for _, p := range list {
		i := strings.Index(out.String(), "\n"+p.name+" ")
		if i <= at {
			t.Errorf("%s does not come where the list has it in\n%s", p.name, &out)
		}
		at = i
	}
	for _, dir := range dirs {
		if text, _ := os.ReadFile(filepath.Join(dir, "tiny.go")); string(text) != tiny["tiny.go"] {
			t.Errorf("a plant was left behind:\n%s", text)
		}
	}
}

// Tests that fail anyway catch nothing.
func TestBaselineWantsCleanTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir, tiny); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, map[string]string{"tiny.go": "package tiny\n\nfunc Double(n int) int { return 5 * n }\n"}); err != nil {
		t.Fatal(err)
	}
	list := []plant{{"wrong", in(".", "TestDouble"), []edit{{"tiny.go", "5 * n", "3 * n"}}}}
	err := baseline(t.Context(), new(bytes.Buffer), []string{dir}, list)
	if err == nil || !strings.Contains(err.Error(), "fails without any plant") {
		t.Errorf("baseline = %v, want that the tests fail without any plant", err)
	}
}

func TestCopyModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := copyModule(t.Context(), root, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "internal/store/quorum/scripts/commit.lua", ".ci/run"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy has a .git: %v", err)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	list := []plant{{name: "node: floor"}, {name: "hold: margin"}, {name: "node: fence"}}
	if got := choose(slices.Clone(list), []string{"floor", "fence"}); len(got) != 2 || got[1].name != "node: fence" {
		t.Errorf("chosen %v", got)
	}
	if got := choose(list, nil); len(got) != 3 {
		t.Errorf("chosen %v without words", got)
	}
}
