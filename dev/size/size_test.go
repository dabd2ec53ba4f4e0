package main

import (
	"os"
	"slices"
	"testing"
)

// Limits of what one person can take in at once.
const (
	mostLines   = 50 // of a function
	mostSteps   = 80 // of one that tells a story in numbered steps
	mostPackage = 5000
	mostSmall   = 10 // small files of a hundred
)

// inSteps are the functions that tell a story in numbered steps.
var inSteps = []string{"internal/store/single/claims.try.win"}

// TestLimits fails if something grows beyond the limits, or is splintered.
func TestLimits(t *testing.T) {
	s, err := measure(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.functions) < 1000 || len(s.packages) < 30 {
		t.Fatalf("only %d functions of %d packages were measured", len(s.functions), len(s.packages))
	}
	for _, f := range s.functions {
		most := mostLines
		if slices.Contains(inSteps, f.name) {
			most = mostSteps
		}
		if f.size > most {
			t.Errorf("%s has %d lines, more than %d: divide it", f.name, f.size, most)
		}
	}
	var all pkg
	for _, p := range s.packages {
		all.add(p)
		if p.large > 0 || p.lines > mostPackage {
			t.Errorf("%s has %d lines, and %d files of more than %d: divide what tells two stories", p.dir, p.lines, p.large, large)
		}
	}
	if all.small*100 > all.files*mostSmall {
		t.Errorf("%d of %d files have less than %d lines: join what tells one story", all.small, all.files, small)
	}
}
