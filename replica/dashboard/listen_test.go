package dashboard_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// listen follows the events of a server as a viewer and returns their lines.
func listen(t *testing.T, r *rig) <-chan string {
	t.Helper()
	server := httptest.NewServer(r)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events", nil)
	r.must(err)
	req.Header.Set("Authorization", "Bearer "+viewer.token)
	resp, err := server.Client().Do(req) //nolint:bodyclose // at the end of the test
	r.must(err)
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the events are %s", kind)
	}
	lines := make(chan string, 1000)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	t.Cleanup(func() {
		_ = resp.Body.Close()
		server.Close()
		<-read
	})
	return lines
}

// wantEvent waits for a line, and does again and again what it should follow: the
// first look of a server tells nothing.
func wantEvent(t *testing.T, lines <-chan string, want string, do func()) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	do()
	for {
		select {
		case line, ok := <-lines:
			if line == want {
				return
			}
			if !ok {
				t.Fatalf("the events ended without %q", want)
			}
		case <-again.C:
			do()
		case <-late:
			t.Fatalf("no %q", want)
		}
	}
}
