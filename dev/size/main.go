// Size prints how large the product is: files, lines of code and exported names of each package,
// then the largest packages, functions and types, and what is beside the product. A line of code
// has more than a comment. Tests do not count, and the product has no test kits, tools, examples
// and benchmarks.
//
//	go run ./dev/size
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	s, err := measure(os.DirFS("."))
	if err != nil {
		log.Fatal(err)
	}
	s.print()
}

// A file has few lines below small, and many above large.
const small, large = 60, 500

// A pkg is one package. Lines are those of code. Names are its exported types and functions,
// members the exported methods and fields of those.
type pkg struct {
	dir                          string
	files, lines, names, members int
	small, large                 int // files
}

func (p *pkg) add(o pkg) {
	p.files, p.lines, p.names, p.members = p.files+o.files, p.lines+o.lines, p.names+o.names, p.members+o.members
	p.small, p.large = p.small+o.small, p.large+o.large
}

// public reports whether others can import it.
func (p pkg) public() bool { return !slices.Contains(strings.Split(p.dir, "/"), "internal") }

// A named is something with a size.
type named struct {
	name string
	size int
}

type sizes struct {
	packages                   []pkg
	functions, fields, methods []named
	beside                     pkg // the product: kits, tools, examples and benchmarks
}

// measure reads the Go files.
func measure(root fs.FS) (sizes, error) {
	var s sizes
	fields, methods := map[string]int{}, map[string]int{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := path.Base(file); file != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		if !product(file) {
			s.beside.count(text)
			return nil
		}
		return s.read(file, text, fields, methods)
	})
	s.fields, s.methods = largest(fields), largest(methods)
	slices.SortFunc(s.functions, bySize)
	return s, err
}

// beside has the folders that are no part of the product. Test kits end in test.
var beside = []string{"dev", "examples"}

// product reports whether a file is part of the product.
func product(file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if strings.HasSuffix(dir, "test") || slices.Contains(beside, dir) {
			return false
		}
	}
	return true
}

// count adds a file.
func (p *pkg) count(text []byte) {
	p.files++
	p.lines += codeLines(text)
	switch n := strings.Count(string(text), "\n"); {
	case n < small:
		p.small++
	case n > large:
		p.large++
	}
}

// codeLines counts the lines with more than a comment. Those of a long string count, too.
func codeLines(text []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		n += end - max(first, last+1) + 1
		last = max(last, end)
	}
}

func (s *sizes) read(file string, text []byte, fields, methods map[string]int) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	i := slices.IndexFunc(s.packages, func(p pkg) bool { return p.dir == dir })
	if i < 0 {
		i, s.packages = len(s.packages), append(s.packages, pkg{dir: dir})
	}
	p := &s.packages[i]
	p.count(text)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			lines := set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1
			name := dir + "." + d.Name.Name
			if d.Recv != nil {
				of := dir + "." + receiver(d.Recv.List[0].Type)
				methods[of]++
				name = of + "." + d.Name.Name
				p.members += exported(d.Name)
			} else {
				p.names += exported(d.Name)
			}
			s.functions = append(s.functions, named{name, lines})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					p.names += exported(t.Name)
					if of, ok := t.Type.(*ast.StructType); ok {
						fields[dir+"."+t.Name.Name], p.members = of.Fields.NumFields(), p.members+public(of.Fields)
					}
				}
			}
		}
	}
	return nil
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func exported(name *ast.Ident) int {
	if name.IsExported() {
		return 1
	}
	return 0
}

func public(fields *ast.FieldList) int {
	n := 0
	for _, f := range fields.List {
		for _, name := range f.Names {
			n += exported(name)
		}
	}
	return n
}

func bySize(a, b named) int { return cmp.Or(b.size-a.size, strings.Compare(a.name, b.name)) }

func largest(sizes map[string]int) []named {
	var list []named
	for name, size := range sizes {
		list = append(list, named{name, size})
	}
	slices.SortFunc(list, bySize)
	return list
}

func (s sizes) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer func() { _ = w.Flush() }()
	fmt.Fprintf(w, "files\t< %d lines\t> %d\tlines of code\ttypes, functions\tmethods, fields\t package\n", small, large)
	row := func(p pkg) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t %s\n", p.files, p.small, p.large, p.lines, p.names, p.members, p.dir)
	}
	all, open := pkg{dir: "all"}, pkg{dir: "that others can import"}
	var packages []named
	for _, p := range s.packages {
		row(p)
		all.add(p)
		if p.public() {
			open.add(p)
		}
		packages = append(packages, named{p.dir, p.lines})
	}
	row(all)
	row(open)
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t\t\t beside the product\n", s.beside.files, s.beside.small, s.beside.large, s.beside.lines)
	slices.SortFunc(packages, bySize)
	for _, top := range []struct {
		title string
		list  []named
	}{{"lines of a package", packages}, {"lines of a function", s.functions}, {"fields of a type", s.fields}, {"methods of a type", s.methods}} {
		fmt.Fprintf(w, "\n\t\t\t\t\t\t %s\n", top.title)
		for _, n := range top.list[:min(12, len(top.list))] {
			fmt.Fprintf(w, "\t\t\t%d\t\t\t %s\n", n.size, n.name)
		}
	}
}
