package replica

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/traces"
)

// The trace of a tick goes on in a command, in a server that a job calls, and in the receiver of a
// webhook; the log of the run names it.
func TestTraceLeavesTheProcess(t *testing.T) {
	t.Parallel()
	received := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		received <- req.URL.Path + " " + req.Header.Get("Traceparent")
	}))
	defer server.Close()
	written := filepath.Join(t.TempDir(), "traceparent")
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	source := config.Source{Path: write(t, fmt.Sprintf(`
redis: {nodes: [%s]}
jobs:
  command: {func: exec, schedule: "@every 1s", params: {command: [sh, -c, 'echo "$TRACEPARENT" >%s']}}
  request: {func: http, schedule: "@every 1s", params: {url: "%s/request"}}
webhooks:
  - {url: "%[3]s/hook", events: [finished], jobs: [command]}
`, redistest.Start(t).URL(), written, server.URL))}
	cfg, err := config.Read(source, registry)
	if err != nil {
		t.Fatal(err)
	}
	declareNew(t, openCluster(t, source))
	spans := tracetest.NewInMemoryExporter()
	var out logtest.Buffer
	r, err := newReplica(cfg, registry, Config{
		Replica: settings.Replica{ID: "a"}, Logger: logTo(&out), Traces: traces.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))),
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t.Context(), r)
	first := map[string]string{}
	for len(first) < 2 {
		path, carried, _ := strings.Cut(<-received, " ")
		first[path] = carried
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]struct{ carried, below string }{
		"the command": {strings.TrimSpace(string(command)), "run"},
		"the request": {first["/request"], "run"},
		"the webhook": {first["/hook"], "tick command"},
	} {
		if name, err := spanOf(spans.GetSpans(), want.carried); err != nil || name != want.below {
			t.Errorf("%s has %q, which is that of span %q (%v), want %q", from, want.carried, name, err, want.below)
		}
	}
	if id := strings.Split(first["/request"], "-")[1]; !strings.Contains(out.String(), "trace_id="+id) {
		t.Errorf("no line of the log has trace_id %s", id)
	}
}

// spanOf returns the name of the span that a header traceparent is of.
func spanOf(spans tracetest.SpanStubs, traceparent string) (string, error) {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		return "", errors.New("it has no four parts")
	}
	traceID, err := trace.TraceIDFromHex(parts[1])
	spanID, err2 := trace.SpanIDFromHex(parts[2])
	i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool {
		return s.SpanContext.SpanID() == spanID && s.SpanContext.TraceID() == traceID
	})
	if err := errors.Join(err, err2); err != nil || i < 0 {
		return "", errors.Join(err, errors.New("no such span"))
	}
	return spans[i].Name, nil
}
