package release

import (
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each package has all names that it uses on other systems, too: a file for one of them is compiled
// nowhere else. To compile everything for each system takes minutes, so imports are not read.
func TestEachSystemHasAllNames(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, system := range []string{"linux", "darwin", "windows"} {
		platform := gobuild.Default
		platform.GOOS, platform.CgoEnabled = system, false
		for _, room := range []string{"cmd", "internal", "jobs", "locking", "replica", "scheduler", "stores"} {
			err := filepath.WalkDir(filepath.Join("../..", room), func(dir string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.IsDir() || strings.Contains(dir, "testkit") {
					return err
				}
				if found, err := platform.ImportDir(dir, 0); err == nil {
					checked++
					for _, name := range undefined(t, dir, found.GoFiles) {
						t.Errorf("%s lacks a name on %s: %s", dir, system, name)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if checked < 150 {
		t.Errorf("%d packages were checked: is this still the module's root?", checked)
	}
}

// undefined returns the names that the files use, and neither declare nor import. The name before a
// dot may be that of an import, which only its own files tell.
func undefined(t *testing.T, dir string, names []string) (list []string) {
	t.Helper()
	set, qualifies := token.NewFileSet(), map[string]bool{}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if selector, is := n.(*ast.SelectorExpr); is {
				if x, is := selector.X.(*ast.Ident); is {
					qualifies[x.Name] = true
				}
			}
			return true
		})
	}
	check := types.Config{Error: func(err error) { // that an import was not read is an error, too
		if _, name, is := strings.Cut(err.Error(), "undefined: "); is && !qualifies[name] && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}}
	_, _ = check.Check(dir, set, files, nil)
	return list
}
