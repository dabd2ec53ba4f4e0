// Package exported lists what other modules can use of this one, so that a change of it is
// seen in review: its test compares the list with exported.txt, which `make exported` writes.
// An alias of a type in an internal package is listed as that type, under the alias's name.
package exported

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// List returns every exported declaration of the module at root, without comments, by
// package; packages that nobody outside can import, or has a reason to, are left out.
func List(root fs.FS) (string, error) {
	packages := map[string][]string{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if hidden(file) {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, ".go"), strings.HasSuffix(file, "_test.go"):
			return nil
		}
		list, err := declarations(root, file)
		packages[path.Dir(file)] = append(packages[path.Dir(file)], list...)
		return err
	})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, dir := range sorted(packages) {
		fmt.Fprintf(&text, "package %s\n\n", dir)
		slices.Sort(packages[dir])
		for _, d := range packages[dir] {
			text.WriteString(d + "\n")
		}
		text.WriteString("\n")
	}
	return text.String(), nil
}

func hidden(dir string) bool {
	base := path.Base(dir)
	return dir != "." && strings.HasPrefix(base, ".") ||
		slices.Contains([]string{"internal", "testdata", "dev", "examples"}, base)
}

func sorted(packages map[string][]string) []string {
	var dirs []string
	for dir, list := range packages {
		if len(list) > 0 {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// declarations returns the exported declarations of a file.
func declarations(root fs.FS, file string) ([]string, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil || f.Name.Name == "main" || !ast.FileExports(f) {
		return nil, err
	}
	var list []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = nil
			if d.Recv != nil {
				if !exportedType(d.Recv.List[0].Type) {
					continue
				}
				d.Recv.List[0].Names = nil // others may name it otherwise
			}
			list = append(list, source(d))
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch dir, name := aliased(f, spec); {
				case dir != "":
					of, err := typeIn(root, dir, name)
					if err != nil {
						return nil, err
					}
					for _, d := range of {
						list = append(list, strings.Replace(d, name, spec.(*ast.TypeSpec).Name.Name, 1))
					}
				case d.Tok != token.IMPORT:
					list = append(list, source(&ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}}))
				}
			}
		}
	}
	return list, nil
}

const module = "github.com/quorate/quorate/"

// aliased returns the internal package and the type that spec is an alias of; "" if it is
// none. The packages are imported by their own names.
func aliased(f *ast.File, spec ast.Spec) (dir, name string) {
	alias, ok := spec.(*ast.TypeSpec)
	if !ok || !alias.Assign.IsValid() {
		return "", ""
	}
	sel, ok := alias.Type.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	for _, i := range f.Imports {
		dir, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
		if own && strings.Contains("/"+dir, "/internal/") && path.Base(dir) == fmt.Sprint(sel.X) {
			return dir, sel.Sel.Name
		}
	}
	return "", ""
}

// typeIn returns what is exported of a type of the package in dir: it, and its methods.
func typeIn(root fs.FS, dir, name string) ([]string, error) {
	files, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil, err
	}
	its := regexp.MustCompile(`^(type ` + name + `|func \(\*?` + name + `\)) `)
	var list []string
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		all, err := declarations(root, path.Join(dir, file.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(all, func(d string) bool { return !its.MatchString(d) })...)
	}
	return list, nil
}

// exportedType reports whether a method's receiver is of an exported type.
func exportedType(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return exportedType(t.X)
	case *ast.IndexExpr:
		return exportedType(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}

// source formats a node in the canonical way, whatever its place in the file. What was
// parsed can be formatted.
func source(node ast.Node) string {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) { // else a comment says that something is left out
		case *ast.StructType:
			n.Incomplete = false
		case *ast.InterfaceType:
			n.Incomplete = false
		}
		return true
	})
	var b bytes.Buffer
	_ = format.Node(&b, token.NewFileSet(), node)
	return b.String()
}
