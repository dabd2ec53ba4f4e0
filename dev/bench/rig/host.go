package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// A host stands in for a test where there is none, so that a program can start
// the servers that tests use.
type host struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	cleanups []func()
	failed   error
}

// Host runs f as a test would be run: what f starts for its testing.TB ends
// with it. It returns what f returned, or what made the testing.TB fail.
func Host(ctx context.Context, f func(tb testing.TB) error) error {
	h := &host{ctx: ctx}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer h.cleanUp()
		err = f(h)
	}()
	<-done
	return errors.Join(err, h.failed)
}

func (h *host) cleanUp() {
	h.mu.Lock()
	list := h.cleanups
	h.mu.Unlock()
	for _, f := range slices.Backward(list) {
		f()
	}
}

func (h *host) Helper() {}

func (h *host) Context() context.Context { return h.ctx }

func (h *host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "quorate-bench-")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = os.RemoveAll(dir) }) // the system clears what stays
	return dir
}

// Fatal ends the goroutine, as that of a test does.
func (h *host) Fatal(args ...any) {
	h.mu.Lock()
	h.failed = errors.New(fmt.Sprint(args...))
	h.mu.Unlock()
	runtime.Goexit()
}

func (h *host) Fatalf(format string, args ...any) { h.Fatal(fmt.Sprintf(format, args...)) }
