package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/quorate/quorate"

// A block is statements that run one after another, from line.column on in a file of the module.
type block struct {
	file                     string
	line, column, statements int
}

type blocks map[block]bool

// readProfile returns the blocks that were executed.
func readProfile(name string) (blocks, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	found := blocks{}
	lines := bufio.NewScanner(f)
	lines.Scan() // the mode
	for lines.Scan() {
		// FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
		place, counts, _ := strings.Cut(lines.Text(), " ")
		file, span, _ := strings.Cut(strings.TrimPrefix(place, module+"/"), ":")
		if strings.HasSuffix(counts, " 0") {
			continue
		}
		b := block{file: file}
		if _, err := fmt.Sscanf(span, "%d.%d", &b.line, &b.column); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		number, _, _ := strings.Cut(counts, " ")
		if b.statements, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		found[b] = true
	}
	return found, lines.Err()
}

func (all blocks) without(others blocks) blocks {
	rest := blocks{}
	for b := range all {
		if !others[b] {
			rest[b] = true
		}
	}
	return rest
}

// A way is where the blocks are.
type way struct {
	functions, statements int
	files                 map[string]int // and how many statements of each
}

// way finds the functions that the blocks are in. A function literal is part of the function
// around it. root is the folder of the module.
func (all blocks) way(root string) (way, error) {
	w := way{files: map[string]int{}}
	byFile := map[string][]block{}
	for b := range all {
		byFile[b.file] = append(byFile[b.file], b)
		w.files[b.file] += b.statements
		w.statements += b.statements
	}
	for file, list := range byFile {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return w, err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := set.Position(f.Pos()).Line, set.Position(f.End()).Line
			if slices.ContainsFunc(list, func(b block) bool { return from <= b.line && b.line <= to }) {
				w.functions++
			}
		}
	}
	return w, nil
}

func (w way) packages() map[string]bool {
	found := map[string]bool{}
	for file := range w.files {
		found[path.Dir(file)] = true
	}
	return found
}

// list returns the files by package, with how many statements each has.
func (w way) list() []string {
	var list []string
	for file, n := range w.files {
		list = append(list, fmt.Sprintf("  %s: %d", file, n))
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(path.Dir(a)+"\x00"+a, path.Dir(b)+"\x00"+b) })
	return list
}
