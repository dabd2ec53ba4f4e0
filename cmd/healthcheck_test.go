package cmd

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHealthAsksTheReplica(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("node a abstains\n"))
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("redis: {nodes: [redis://127.0.0.1:7101]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		listen string
		args   []string
		code   int
		prints string
	}{
		{listen: "127.0.0.1:" + port, prints: "ok\n"},
		{listen: "0.0.0.0:" + port, prints: "ok\n"},
		{listen: ":" + port, prints: "ok\n"},
		{listen: ":" + port, args: []string{"--ready"}, code: exitFailed, prints: "node a abstains"},
		{listen: "127.0.0.1:1", code: exitFailed, prints: "does not answer"},
		{listen: "127.0.0.1:0", code: exitUsage, prints: "http.probes_listen"},
		{code: exitUsage, prints: "http.probes_listen"},
	} {
		args := append([]string{"health", "-c", config, "--set", "http/probes_listen=" + tt.listen}, tt.args...)
		stdout, stderr, code := quorate(t, args...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.prints) {
			t.Errorf("%v: exit code %d, %q%q; want %d and %q", args, code, stdout, stderr, tt.code, tt.prints)
		}
	}
}
