package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// A page takes what several goroutines print.
type page struct {
	mu sync.Mutex
	b  strings.Builder
}

func (p *page) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(text)
}

func TestCustomers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &page{}
	if err := run(ctx, out); err != nil {
		t.Fatal(err)
	}
	text := out.b.String()
	for _, want := range []string{
		"added invoice-ada", "invoice for ada", "added invoice-bob", "invoice for bob", "changed invoice-ada",
		"reading the jobs: connection refused", "removed invoice-bob", "drained",
	} {
		_, after, found := strings.Cut(text, want)
		if !found {
			t.Fatalf("no %q, in this order, in:\n%s", want, out.b.String())
		}
		text = after
	}
	// A tick that was being claimed when he left may still run.
	if _, after, _ := strings.Cut(out.b.String(), "removed invoice-bob"); strings.Count(after, "invoice for bob") > 1 {
		t.Errorf("bob is billed after he has left:\n%s", out.b.String())
	}
}
