package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// A stalled writer is that of a client which does not read: what is written to it
// waits until the deadline, if there is one.
type stalled struct {
	header http.Header
	until  time.Time
	waits  bool // for ever
}

func (w *stalled) Header() http.Header                { return w.header }
func (w *stalled) WriteHeader(int)                    {}
func (w *stalled) SetWriteDeadline(t time.Time) error { w.until = t; return nil }

func (w *stalled) Write([]byte) (int, error) {
	w.waits = w.until.IsZero()
	return 0, os.ErrDeadlineExceeded
}

// Who follows the events and does not read them is given up after a while, and its
// place is free for others.
func TestStalledListenerIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events", nil)
	req.Header.Set("Authorization", "Bearer "+viewer.token)
	w := &stalled{header: http.Header{}}
	r.ServeHTTP(w, req)
	if w.waits {
		t.Error("a write to it has no deadline")
	}
}
