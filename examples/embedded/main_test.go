package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// A stopper ends the service when its output holds a text.
type stopper struct {
	mu   sync.Mutex
	b    strings.Builder
	text string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p)
	if strings.Contains(s.b.String(), s.text) {
		s.stop()
	}
	return len(p), nil
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &stopper{text: "0 visits so far", stop: cancel}
	if err := run(ctx, out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"serving on http://127.0.0.1:", "token 1", "0 visits so far", "drained"} {
		if !strings.Contains(out.b.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out.b)
		}
	}
}
