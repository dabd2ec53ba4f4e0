package main

import (
	"os"
	"slices"
	"testing"
)

// Limits of what one person can take in at once.
const (
	mostFields  = 21
	mostMethods = 25
	mostLines   = 50 // of a function
	mostSteps   = 80 // of one that tells a story in numbered steps
)

// inSteps are the functions that tell a story in numbered steps.
var inSteps = []string{"internal/store/single/claims.try.win"}

// TestLimits fails if something grows beyond the limits.
func TestLimits(t *testing.T) {
	s, err := measure(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []struct {
		what string
		most int
		list []named
	}{{"fields", mostFields, s.fields}, {"methods", mostMethods, s.methods}, {"lines", mostLines, s.functions}} {
		if len(limit.list) < 100 {
			t.Fatalf("only %d %s were measured", len(limit.list), limit.what)
		}
		for _, n := range limit.list {
			if n.size <= limit.most {
				break // the largest are first
			}
			if slices.Contains(inSteps, n.name) && n.size <= mostSteps {
				continue
			}
			t.Errorf("%s has %d %s, more than %d: divide it", n.name, n.size, limit.what, limit.most)
		}
	}
}
