package faults

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/quorate/quorate/locking"
)

// A sink takes writes and refuses those whose token is smaller than the largest
// it has seen, as every guard does.
type sink struct {
	*httptest.Server

	mu   sync.Mutex
	seen map[string]locking.Token // by path
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{seen: map[string]locking.Token{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseUint(r.Header.Get("Fencing-Token"), 10, 64)
	switch {
	case err != nil:
		http.Error(w, "no token", http.StatusBadRequest)
	case !s.admit(r.URL.Path, locking.Token(n)):
		w.WriteHeader(http.StatusPreconditionFailed)
	}
}

func (s *sink) admit(path string, token locking.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.seen[path] {
		return false
	}
	s.seen[path] = token
	return true
}
