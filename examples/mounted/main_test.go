package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// ask makes a request of somebody's session, and returns what it was answered.
func ask(t *testing.T, session, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("X-Session", session)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func TestMounted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", out) }()
	said := make([]byte, 100)
	n, err := in.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSpace(strings.TrimPrefix(string(said[:n]), "serving on "))
	if status, body := ask(t, "", "GET", base+"/", ""); status != http.StatusOK || !strings.Contains(body, "own page") {
		t.Errorf("the service: %d %s", status, body)
	}
	api := base + "/admin/cron/api/v1"
	if status, body := ask(t, "", "GET", api+"/jobs", ""); status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", status, body)
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if status, _ := ask(t, "ann", "POST", api+"/jobs/greet/trigger", `{"reason": "try"}`); status == http.StatusOK {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("ann cannot act")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
