package main

import (
	"os"
	"testing"
)

// Limits of what one person can take in at once.
const (
	mostFields  = 20
	mostMethods = 25
	mostLines   = 50 // of a function
)

// exceptions are larger than the limits, each for a reason.
var exceptions = map[string]string{}

// TestLimits fails if something grows beyond the limits, and if an exception is not
// needed any more.
func TestLimits(t *testing.T) {
	s, err := measure(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	large := map[string]bool{}
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
			large[n.name] = true
			if exceptions[n.name] == "" {
				t.Errorf("%s has %d %s, more than %d: divide it", n.name, n.size, limit.what, limit.most)
			}
		}
	}
	for name, why := range exceptions {
		if !large[name] {
			t.Errorf("%s (%s) is within the limits: it is no exception any more", name, why)
		}
	}
}
