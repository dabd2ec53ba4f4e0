package dashboard

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/metrics"
)

// fetch asks a server as somebody, with a body if it is not empty.
func fetch(t *testing.T, token, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
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

// A replica serves the API: who is on this machine reads, a user of the file commands,
// and the run shows.
func TestServesTheAPI(t *testing.T) {
	t.Parallel()
	token, kept := gate.NewToken()
	users := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(users, []byte("ann: {role: operator, token: "+kept+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := config.Source{Path: write(t, fmt.Sprintf("namespace: web\nredis: {nodes: [%s]}\nhttp: {base_path: /cron, anonymous: loopback, anonymous_metrics: loopback, users_file: %s}\njobs:\n  tell: {func: tell, schedule: \"@yearly\"}\n",
		strings.Join(redistest.URLs(redistest.StartN(t, 3)), ", "), users)), Environ: []string{}}
	registry := jobs.NewRegistry()
	jobs.Register(registry, "tell", func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := cfg.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	set, err := membership.Open(cluster.Redis)
	if err != nil {
		t.Fatal(err)
	}
	redistest.Await(t, "the store to be declared new", func(ctx context.Context) bool { return set.Init(ctx, false) == nil })
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := replica.New(replica.Config{
		File: &config.File{Config: cfg}, Registry: registry,
		Replica: settings.Replica{ID: "a"}, Listener: listener, Logger: slog.New(slog.DiscardHandler), Metrics: new(metrics.Metrics), Dashboard: new(Server),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	base := "http://" + listener.Addr().String() + "/cron/api/v1"
	eventually(t, "the job is served", func() bool {
		status, body := fetch(t, "", "GET", base+"/jobs/tell", "")
		return status == http.StatusOK && strings.Contains(body, `"live":true`)
	})
	if status, body := fetch(t, "", "POST", base+"/jobs/tell/trigger", `{"reason": "try"}`); status != http.StatusUnauthorized {
		t.Errorf("nobody acts: %d %s", status, body)
	}
	for body, want := range map[string]string{
		`{"reason": "try", "params": {"to": "bob"}}`:              "to: unknown key: there are none here",
		`{"reason": "try", "params": {"greeting": "hi", "n": 1}}`: "greeting: unknown key",
		`{"reason": "try", "params": {"x": "${env:HOME}"}}`:       "x: ${…} is resolved in the configuration only",
	} {
		if status, text := fetch(t, token, "POST", base+"/jobs/tell/trigger", body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("params that do not fit, %s: %d %s", body, status, text)
		}
	}
	if status, body := fetch(t, token, "POST", base+"/jobs/tell/trigger", `{"reason": "try"}`); status != http.StatusOK {
		t.Errorf("ann acts: %d %s", status, body)
	}
	if status, body := fetch(t, strings.Repeat("x", 40<<10), "GET", base+"/jobs", ""); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %d %s", status, body)
	}
	eventually(t, "the run shows", func() bool {
		_, body := fetch(t, "", "GET", base+"/runs", "")
		return strings.Contains(body, `"outcome":"succeeded"`)
	})
	if _, body := fetch(t, "", "GET", base+"/audit", ""); !strings.Contains(body, "ann@127.0.0.1") || !strings.Contains(body, "refused: ") {
		t.Errorf("the audit log: %s", body)
	}
	for path, text := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/metrics": `quorate_ticks_total{job_name="tell",outcome="succeeded"} 1`} {
		if status, body := fetch(t, "", "GET", strings.TrimSuffix(base, "/api/v1")+path, ""); status != http.StatusOK || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	status, body := fetch(t, "", "GET", base+"/configuration", "")
	var shown struct {
		Settings map[string]any
		Sets     []view.ServedSet
	}
	if err := json.Unmarshal([]byte(body), &shown); err != nil || status != http.StatusOK || shown.Settings["namespace"] != "web" || len(shown.Sets) != 1 {
		t.Fatalf("the configuration: %d %s, %v", status, body, err)
	}
	eventually(t, "what is in the set of jobs is known", func() bool {
		status, body := fetch(t, "", "GET", base+"/configuration/sets/"+shown.Sets[0].ConfigHash, "")
		return status == http.StatusOK && strings.Contains(body, `"schedule":"@yearly"`)
	})
	for _, path := range []string{"/nodes", "/nodes/check", "/locks", "/replicas", "/next"} {
		if status, body := fetch(t, "", "GET", base+path, ""); status != http.StatusOK || !strings.HasPrefix(body, `{"items":[`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A port that is taken is an error that names the key.
func TestListenIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	s := &Server{addr: taken.Addr().String(), log: slog.New(slog.DiscardHandler)}
	if err := s.Start(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "http.listen: cannot listen on "+s.addr) {
		t.Errorf("start = %v", err)
	}
}

// A certificate that was renewed is served from then on, also while its file is
// broken.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &certificate{certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem")}
	if _, err := c.get(nil); err == nil {
		t.Fatal("there is none")
	}
	written := time.Now().Add(-time.Hour)
	put := func(text string) {
		written = written.Add(time.Minute)
		if err := os.WriteFile(c.certFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(c.certFile, written, written); err != nil {
			t.Fatal(err)
		}
	}
	ca := redistest.NewCA(t)
	cert := ca.PEM()
	if err := os.WriteFile(c.keyFile, ca.KeyPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	put(string(cert))
	first, err := c.get(nil)
	if err != nil {
		t.Fatal(err)
	}
	put("broken")
	if again, err := c.get(nil); err != nil || again != first {
		t.Errorf("a broken file: %v, %v", again, err)
	}
	put(string(cert))
	if again, err := c.get(nil); err != nil || again == first {
		t.Errorf("a renewed file: %v", err)
	}
}

// With a certificate of its own a replica speaks HTTP/2: browsers have few connections
// of HTTP/1.1 to one server, and each open tab keeps one for the events.
func TestOwnTLSSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	dir, ca := t.TempDir(), redistest.NewCA(t)
	for name, text := range map[string][]byte{"cert.pem": ca.PEM(), "key.pem": ca.KeyPEM()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Read(config.Source{Path: write(t, fmt.Sprintf(
		"redis: {nodes: [redis://127.0.0.1:1]}\nhttp: {listen: \"127.0.0.1:0\", tls: {cert_file: %s/cert.pem, key_file: %[1]s/key.pem}}\n", dir)), Environ: []string{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := new(Server)
	if _, err := replica.New(replica.Config{File: &config.File{Config: cfg}, Replica: settings.Replica{ID: "a"}, Logger: slog.New(slog.DiscardHandler), Listener: listener, Dashboard: s}); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+"/api/v1/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Errorf("answered with %s: %s", resp.Proto, resp.Status)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// eventually waits for ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !ok(); tries++ {
		if tries == 1000 {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// write writes a configuration and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
