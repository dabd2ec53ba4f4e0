package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/quorate/quorate/scheduler/metrics"
)

// get returns the status and body of a probe.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	for tries := 1; errors.Is(err, io.EOF) && tries < 5; tries++ { // a busy machine may take longer than the server waits
		response, err = client.Do(request)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestLargeHeadersAreRefused before they take memory.
func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	p, err := startProbes(t.Context(), "127.0.0.1:0", slog.New(slog.DiscardHandler), func() []string { return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, "http://"+p.listener.Addr().String()+"/healthz?"+strings.Repeat("x", 40<<10)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d %s", status, body)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	var why []string
	p, err := startProbes(t.Context(), "127.0.0.1:0", slog.New(slog.DiscardHandler), func() []string { return why }, metrics.New(metrics.Config{Version: "1.2.3"}))
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + p.listener.Addr().String()
	for _, tt := range []struct {
		path   string
		why    []string
		status int
		body   string
	}{
		{"/healthz", nil, 200, "ok\n"},
		{"/readyz", nil, 200, "ok\n"},
		{"/healthz", []string{"draining"}, 200, "ok\n"},
		{"/readyz", []string{"draining", "no quorum"}, 503, "draining\nno quorum\n"},
		{"/", nil, 404, "404 page not found\n"},
	} {
		why = tt.why
		if status, body := get(t, base+tt.path); status != tt.status || body != tt.body {
			t.Errorf("%s with %q: got %d %q, want %d %q", tt.path, tt.why, status, body, tt.status, tt.body)
		}
	}
	if status, body := get(t, base+"/metrics"); status != 200 || !strings.Contains(body, `version="1.2.3"`) {
		t.Errorf("/metrics: got %d %q", status, body)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestProbesOnATakenPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = startProbes(t.Context(), taken.Addr().String(), slog.New(slog.DiscardHandler), nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "http.probes_listen: cannot listen on "+taken.Addr().String()) {
		t.Errorf("got %v", err)
	}
}
