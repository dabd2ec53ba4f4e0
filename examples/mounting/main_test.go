package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is one user's, with the cookies of the service.
type browser struct {
	t         *testing.T
	ctx       context.Context // of its requests
	client    *http.Client
	base      string
	following sync.WaitGroup
}

// send makes a request and returns the answer, whose body the caller closes. Each header is a
// key and a value.
func (b *browser) send(method, path, body string, header ...string) *http.Response {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.ctx, method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// want makes a request and checks the answer, which it returns.
func (b *browser) want(status int, part, method, path, body string, header ...string) string {
	b.t.Helper()
	resp := b.send(method, path, body, header...)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != status || !strings.Contains(string(text), part) {
		b.t.Errorf("%s %s: %s, want %d and %q in\n%.500s", method, path, resp.Status, status, part, text)
	}
	return string(text)
}

// start runs the service and returns a browser for it. At the end of the test the service must
// drain, although the browser still follows the events.
func start(t *testing.T, router router) *browser {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, "127.0.0.1:0", router, out)
		_ = out.CloseWithError(err)
		ended <- err
	}()
	browsing, leave := context.WithCancel(context.WithoutCancel(ctx))
	b := &browser{t: t, ctx: browsing}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		leave()
		b.following.Wait()
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.client, b.base = &http.Client{Jar: jar}, strings.TrimSpace(strings.TrimPrefix(line, "serving on "))
	return b
}

const (
	api     = prefix + "/api/v1"
	trigger = prefix + "/jobs/greet/trigger"
	reason  = `{"reason": "try"}`
)

var (
	asJSON = []string{"Content-Type", "application/json"}
	asForm = []string{"Content-Type", "application/x-www-form-urlencoded"}
	evil   = []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}
)

func TestMounted(t *testing.T) {
	t.Parallel()
	for name, router := range routers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, router)
			b.want(http.StatusOK, "Log in", "GET", "/", "")
			b.want(http.StatusNotFound, "", "GET", "/admin", "")
			b.want(http.StatusUnauthorized, "", "GET", api+"/jobs", "")
			b.want(http.StatusUnauthorized, "", "POST", api+"/jobs/greet/trigger", reason, asJSON...)
			overview := b.want(http.StatusOK, prefix+"/jobs", "POST", "/login", "") // leads to the dashboard
			b.want(http.StatusOK, prefix+"/jobs", "GET", prefix, "")                // also without its slash
			style := regexp.MustCompile(`"(` + prefix + `/static/style\.css[^"]*)"`).FindStringSubmatch(overview)
			if style == nil {
				t.Fatalf("the page has no style: %s", overview)
			}
			b.want(http.StatusOK, "{", "GET", style[1], "")
			b.want(http.StatusNotFound, "there is no page", "GET", prefix+"/none", "")

			b.follow(func() { // refused until the nodes vote
				_ = b.send("POST", api+"/jobs/greet/trigger", reason, asJSON...).Body.Close()
			})
			b.want(http.StatusOK, `"by":"ann@127.0.0.1"`, "GET", api+"/audit", "")

			b.want(http.StatusForbidden, "another origin", "POST", api+"/jobs/greet/trigger", reason, append(evil, asJSON...)...)
			b.want(http.StatusForbidden, "another origin", "POST", trigger, "reason=try", append(evil, asForm...)...)
			same := append([]string{"Origin", b.base, "Sec-Fetch-Site", "same-origin"}, asForm...)
			b.want(http.StatusOK, `href="`+prefix+`/jobs/greet/trigger`, "POST", trigger, "reason=try", same...)
		})
	}
}

// follow opens the stream of events, and does something until its run has ended. The stream
// stays open until the service closes it.
func (b *browser) follow(do func()) {
	b.t.Helper()
	resp := b.send("GET", api+"/events", "")
	lines := make(chan string, 1000)
	b.following.Go(func() {
		defer close(lines)
		defer func() { _ = resp.Body.Close() }()
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			lines <- in.Text()
		}
	})
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for event := ""; ; {
		select {
		case line, open := <-lines:
			if !open {
				b.t.Fatal("the stream has ended")
			}
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				event = name
			}
			if event == "run" && strings.Contains(line, `"job":"greet"`) && strings.Contains(line, "succeeded") {
				return
			}
		case <-again.C:
			do()
		case <-late:
			b.t.Fatal("no event of the run")
		}
	}
}

// The dashboard flushes events, and moves the deadlines of the connection: the writer that a
// router passes on must let it.
func TestWriters(t *testing.T) {
	t.Parallel()
	for name, router := range routers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := false
			server := httptest.NewServer(router(newService(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				called = true
				control := http.NewResponseController(w)
				for what, err := range map[string]error{
					"flush": control.Flush(), "read deadline": control.SetReadDeadline(time.Time{}), "write deadline": control.SetWriteDeadline(time.Time{}),
				} {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
			})))
			defer server.Close()
			b := &browser{t: t, ctx: t.Context(), client: server.Client(), base: server.URL}
			b.want(http.StatusOK, "", "GET", prefix+"/any", "")
			if !called {
				t.Error("the handler was not called")
			}
		})
	}
}
