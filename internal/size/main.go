// Size prints how large the product is: files, lines and exported names of each package,
// then the largest functions and types. Tests, test kits, tools, examples and benchmarks do
// not count.
//
//	go run ./internal/size
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
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

// A pkg is one package. Names are its exported types and functions, members the
// exported methods and fields of those.
type pkg struct {
	dir                          string
	files, lines, names, members int
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
}

// measure reads the Go files of the product.
func measure(root fs.FS) (sizes, error) {
	var s sizes
	fields, methods := map[string]int{}, map[string]int{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.IsDir() && !product(file) {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		return s.read(file, text, fields, methods)
	})
	s.fields, s.methods = largest(fields), largest(methods)
	slices.SortFunc(s.functions, bySize)
	return s, err
}

// product reports whether the code below dir is part of the product.
func product(dir string) bool {
	base := path.Base(dir)
	switch {
	case dir == ".":
		return true
	case strings.HasPrefix(base, "."), strings.HasSuffix(base, "test"), base == "testdata", base == "node_modules":
		return false
	}
	switch dir {
	case "benchmarks", "examples", "scheduler/internal/sim", "internal/teeth", "internal/truth", "internal/size",
		"internal/browser", "internal/faults", "internal/integration", "internal/interop", "internal/imports", "internal/ci", "internal/exported":
		return false
	}
	return true
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
	p.files++
	p.lines += strings.Count(string(text), "\n")
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
	fmt.Fprintln(w, "files\tlines\ttypes, functions\tmethods, fields\t package")
	var all, open pkg
	for _, p := range s.packages {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t %s\n", p.files, p.lines, p.names, p.members, p.dir)
		for _, sum := range []*pkg{&all, &open} {
			if sum == &open && !p.public() {
				continue
			}
			sum.files, sum.lines, sum.names, sum.members = sum.files+p.files, sum.lines+p.lines, sum.names+p.names, sum.members+p.members
		}
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t all\n", all.files, all.lines, all.names, all.members)
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t that others can import\n", open.files, open.lines, open.names, open.members)
	for _, top := range []struct {
		title string
		list  []named
	}{{"lines of a function", s.functions}, {"fields of a type", s.fields}, {"methods of a type", s.methods}} {
		fmt.Fprintf(w, "\n\t\t\t\t %s\n", top.title)
		for _, n := range top.list[:min(12, len(top.list))] {
			fmt.Fprintf(w, "\t%d\t\t\t %s\n", n.size, n.name)
		}
	}
}
