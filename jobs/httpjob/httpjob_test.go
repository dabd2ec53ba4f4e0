package httpjob_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/locking/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var run = jobs.Run{
	ID: "hook@20261201T020000.000Z", Job: "hook", Tick: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC),
	Token: 42, Attempt: 2, Call: 1, Trigger: "schedule", Replica: "a",
}

func bind(t *testing.T, params map[string]any) jobs.Handler {
	t.Helper()
	h, err := tryBind(params)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func tryBind(params map[string]any) (jobs.Handler, error) {
	r := jobs.NewRegistry()
	httpjob.Register(r)
	return r.Bind("http", params, jobs.Limits{})
}

// serve answers every request with f and returns the server's address.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 1)
	bodies := make(chan string, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r
		bodies <- string(body)
	})
	h := bind(t, map[string]any{
		"url": url + "/path?x=1", "body": "hello",
		"headers": map[string]any{"content-type": "text/plain", "Host": "elsewhere.example", "tracestate": "mine=1"},
	})
	traced := run
	traced.Traceparent, traced.Tracestate = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "other=2"
	if err := h(t.Context(), traced); err != nil {
		t.Fatal(err)
	}
	r := <-requests
	if r.Method != http.MethodPost || r.URL.RequestURI() != "/path?x=1" || r.Host != "elsewhere.example" {
		t.Errorf("request %s %s at %s", r.Method, r.URL, r.Host)
	}
	if !r.Close {
		t.Error("the connection is kept: a broken one would make net/http send the request again")
	}
	if body := <-bodies; body != "hello" {
		t.Errorf("body %q", body)
	}
	for name, want := range map[string]string{
		"Quorate-Job": "hook", "Quorate-Tick": "2026-12-01T02:00:00Z", "Quorate-Attempt": "2",
		"Fencing-Token": "42", "Fencing-Resource": "hook", "Idempotency-Key": run.ID, "Content-Type": "text/plain",
		"Traceparent": traced.Traceparent, "Tracestate": "mine=1",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	methods := make(chan string, 1)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { methods <- r.Method })
	if err := bind(t, map[string]any{"url": url, "method": "DELETE"})(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got := <-methods; got != http.MethodDelete {
		t.Errorf("method %s", got)
	}
}

func TestExpectStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		expect any // nil: not given
		status int
		good   bool
	}{
		"default":           {nil, 204, true},
		"default, other":    {nil, 404, false},
		"default, redirect": {nil, 301, false},
		"code":              {409, 409, true},
		"code, other 2xx":   {201, 200, false},
		"code as text":      {"409", 409, true},
		"class":             {"4xx", 418, true},
		"class, other":      {"4XX", 200, false},
		"list":              {[]any{"2xx", 409}, 409, true},
		"list, class":       {[]any{"2xx", 409}, 201, true},
		"list, other":       {[]any{"2xx", 409}, 410, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := bind(t, map[string]any{"url": serve(t, answer(tt.status, "")), "expect_status": tt.expect})
			err := h(t.Context(), run)
			status, _ := errors.AsType[*httpjob.StatusError](err)
			if tt.good && err != nil || !tt.good && (status == nil || status.Code != tt.status) {
				t.Errorf("got %v, want success %v", err, tt.good)
			}
		})
	}
}

func TestFailureKeepsTheBody(t *testing.T) {
	t.Parallel()
	url := serve(t, answer(500, "no\n  space\xff left"+strings.Repeat("x", 1<<20)))
	err := bind(t, map[string]any{"url": url})(t.Context(), run)
	want := "POST " + url + ": status 500 Internal Server Error, want 2xx: no space left"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %.200v, want %s", err, want)
	}
	if len(err.Error()) > 3000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// A sink that refuses the token fails the run, is reported, and says both
// tokens; a 412 of another kind is a status like any other.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	problem := string((&fence.StaleError{Resource: "orders", Token: 42, Seen: 43}).Problem())
	tests := map[string]struct {
		media, body string
		expect      any
		stale, good bool
	}{
		"refusal":                 {fence.ProblemMedia, problem, nil, true, false},
		"refusal, status wanted":  {fence.ProblemMedia, problem, 412, true, false},
		"other 412":               {"text/plain", "If-Match", nil, false, false},
		"other 412, wanted":       {"text/plain", "If-Match", 412, false, true},
		"refusal of another's":    {fence.ProblemMedia, strings.ReplaceAll(problem, "42", "41"), nil, false, false},
		"no media type, no trust": {"", problem, nil, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				w.WriteHeader(http.StatusPreconditionFailed)
				_, _ = io.WriteString(w, tt.body)
			})
			var told []fence.StaleError
			ctx := fence.WithObserver(t.Context(), func(e *fence.StaleError) { told = append(told, *e) })
			err := bind(t, map[string]any{"url": url + "?key=s3cret", "expect_status": tt.expect})(ctx, run)
			if errors.Is(err, fence.ErrStale) != tt.stale || (err == nil) != tt.good || len(told) == 1 != tt.stale {
				t.Fatalf("got %v, told %v", err, told)
			}
			const want = "?***: stale fencing token: write to orders with token 42 refused, the sink has seen 43"
			if tt.stale && err.Error() != "POST "+url+want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/old" {
			t.Errorf("followed to %s", r.URL)
		}
		http.Redirect(w, r, "/new?token=s3cret", http.StatusFound)
	})
	err := bind(t, map[string]any{"url": url + "/old"})(t.Context(), run)
	if err == nil || !strings.Contains(err.Error(), "it leads to "+url+"/new?***") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestRequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]bool{"before the answer": false, "within the body": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if begin {
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
				}
				cancel(jobs.ErrTimeout)
				<-r.Context().Done()
			})
			err := bind(t, map[string]any{"url": url})(ctx, run)
			if !errors.Is(err, jobs.ErrTimeout) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNoSecretsInErrorsAndLogs(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	tlsServer := httptest.NewUnstartedServer(answer(200, ""))
	tlsServer.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	tlsServer.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)

	hosts := map[string]string{
		"nobody listens": "http://user:s3cret@" + closed.Addr().String(),
		"unknown issuer": strings.Replace(tlsServer.URL, "://", "://user:s3cret@", 1),
		"bad status":     strings.Replace(serve(t, answer(500, "")), "://", "://user:s3cret@", 1),
	}
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			logged := run
			logged.Logger = slog.New(slog.NewTextHandler(&log, nil))
			err := bind(t, map[string]any{"url": host + "/p?key=s3cret"})(t.Context(), logged)
			if err == nil || strings.Contains(err.Error()+log.String(), "s3cret") || !strings.Contains(err.Error(), "://***@") {
				t.Errorf("got %v, log %s", err, log.String())
			}
		})
	}
}

func TestBadParams(t *testing.T) {
	t.Parallel()
	good := func(key string, value any) map[string]any {
		return map[string]any{"url": "http://h", key: value}
	}
	tests := map[string]struct {
		params map[string]any
		want   string
	}{
		"no url":         {nil, "url: is missing"},
		"url":            {good("url", "http://user:s3cret@[x"), "url: is no URL"},
		"scheme":         {good("url", "ftp://h"), "url: must start with"},
		"no host":        {good("url", "http:///x"), "url: names no host"},
		"method":         {good("method", "GE T"), "method: is no HTTP method"},
		"small method":   {good("method", "get"), "method: has small letters: methods are in capitals"},
		"port":           {good("url", "http://h:65536/x"), "url: has a port above 65535"},
		"port alone":     {good("url", "http://:8080/x"), "url: names no host"},
		"host header":    {good("headers", map[string]any{"Host": "a b"}), "headers.Host: is no host"},
		"control byte":   {good("headers", map[string]any{"a": "b\x01"}), "headers.a: has a control character"},
		"rubout":         {good("headers", map[string]any{"a": "b\x7f"}), "headers.a: has a control character"},
		"no final class": {good("expect_status", "1xx"), `expect_status: has "1xx"`},
		"no final":       {good("expect_status", 100), `expect_status: has "100"`},
		"framing":        {good("headers", map[string]any{"content-length": "1"}), "headers.content-length: is set by the HTTP client"},
		"header name":    {good("headers", map[string]any{"a b": "c"}), "headers.a b: is no header name"},
		"header value":   {good("headers", map[string]any{"a": "b\r\nc: d"}), "headers.a: has a line break"},
		"own header too": {good("headers", map[string]any{"Fencing-resource": "x"}), "headers.Fencing-resource: is set by quorate"},
		"own header":     {good("headers", map[string]any{"fencing-token": "1"}), "headers.fencing-token: is set by quorate"},
		"status":         {good("expect_status", 600), `expect_status: has "600"`},
		"status class":   {good("expect_status", "2x"), `expect_status: has "2x"`},
		"no status":      {good("expect_status", []any{}), "expect_status: is empty"},
		"unknown param":  {good("methd", "GET"), `methd: unknown key: did you mean "method"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryBind(tt.params)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("one mistake, several errors: %v", err)
			}
		})
	}
}

// secretly binds a request with secrets in place of ${env:NAME}.
func secretly(t *testing.T, params map[string]any, values ...string) jobs.Handler {
	t.Helper()
	r := jobs.NewRegistry()
	httpjob.Register(r)
	h, err := r.Bind("http", params, jobs.Limits{Resolve: func(text string) (string, error) {
		return strings.NewReplacer(values...).Replace(text), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A server that repeats what it was sent tells no secret, wherever its answer is cut and
// however it is put in one line.
func TestSecretsInAnswersAreMasked(t *testing.T) {
	t.Parallel()
	const token = "c4n4ry  s3cret\tend"
	for name, before := range map[string]int{"whole": 0, "cut early": 2040, "cut late": 2047, "behind": 4000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, strings.Repeat("é", before/2)+r.Header.Get("Token"))
			})
			err := secretly(t, map[string]any{"url": url, "headers": map[string]any{"Token": "${env:T}"}}, "${env:T}", token)(t.Context(), run)
			if err == nil || strings.Contains(err.Error(), "c4n") || strings.Contains(err.Error(), "s3c") || strings.Contains(err.Error(), "\uFFFD") {
				t.Errorf("got …%s", err.Error()[max(0, len(err.Error())-80):])
			}
		})
	}
}

// An answer that breaks off within a secret shows no part of it.
func TestSecretInABrokenAnswerIsMasked(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "denied c4n4ry-s3c")
	})
	err := secretly(t, map[string]any{"url": url, "headers": map[string]any{"Token": "${env:T}"}}, "${env:T}", "c4n4ry-s3cret")(t.Context(), run)
	if err == nil || strings.Contains(err.Error(), "c4n4ry") || !strings.Contains(err.Error(), "denied ***") {
		t.Errorf("got %v", err)
	}
}

// A URL that is a secret shows its host alone, although it is shown without its query.
func TestSecretURLIsMasked(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/services/T0/c4n4ry", http.StatusFound)
	})
	for _, secret := range []string{url + "/services/T0/c4n4ry?x=1", url + "/services/T0/c4n4ry", strings.Replace(url, "://", "://me@", 1) + "/services/T0/c4n4ry"} {
		err := secretly(t, map[string]any{"url": "${env:HOOK}"}, "${env:HOOK}", secret)(t.Context(), run)
		if err == nil || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("got %v", err)
		}
	}
	err := secretly(t, map[string]any{"url": url + "/x/${env:T}"}, "${env:T}", "c4n4ry/a b")(t.Context(), run)
	if err == nil || strings.Contains(err.Error(), "c4n4ry/") {
		t.Errorf("got %v", err)
	}
}

// A refusal that names a secret as its resource does not tell it to those who hear of it.
func TestSecretInARefusalIsMasked(t *testing.T) {
	t.Parallel()
	problem := string((&fence.StaleError{Resource: "orders of c4n4ry-s3cret", Token: 42, Seen: 43}).Problem())
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", fence.ProblemMedia)
		w.WriteHeader(http.StatusPreconditionFailed)
		_, _ = io.WriteString(w, problem)
	})
	var told []fence.StaleError
	ctx := fence.WithObserver(t.Context(), func(e *fence.StaleError) { told = append(told, *e) })
	err := secretly(t, map[string]any{"url": url, "body": "${env:T}"}, "${env:T}", "c4n4ry-s3cret")(ctx, run)
	if !errors.Is(err, fence.ErrStale) || len(told) != 1 || strings.Contains(fmt.Sprint(err, told), "c4n4ry") {
		t.Errorf("got %v, told %v", err, told)
	}
}
