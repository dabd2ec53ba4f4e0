package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
)

// A world is several copies of the service on one database.
type world struct {
	*testing.T
	pool   *pgxpool.Pool
	urls   []string
	counts *prometheus.Registry // of the last copy
	log    logtest.Buffer
	spans  *tracetest.InMemoryExporter
	alerts chan string
}

// startWorld starts so many copies, which must drain at the end of the test.
func startWorld(t *testing.T, copies int) *world {
	t.Helper()
	w := &world{T: t, spans: tracetest.NewInMemoryExporter(), alerts: make(chan string, 100)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Event, Error string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		w.alerts <- message.Event + ": " + message.Error
	}))
	t.Cleanup(hook.Close)
	t.Setenv("ALERTS_URL", hook.URL)
	var err error
	if w.pool, err = pgxpool.New(t.Context(), pgtest.Start(t).URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	for range copies {
		if err := migrate(t.Context(), w.pool); err != nil {
			t.Fatal(err)
		}
		w.serve()
	}
	return w
}

// serve runs a copy until the test ends.
func (w *world) serve() {
	w.Helper()
	listener, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.urls = append(w.urls, "http://"+listener.Addr().String())
	w.counts = prometheus.NewRegistry()
	s := &service{
		pool: w.pool, registry: w.counts,
		log:     slog.New(slog.NewTextHandler(&w.log, nil)).With("service", "shop"),
		tracing: sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans)),
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, listener) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Error(err)
		}
		if w.Failed() {
			w.Log(w.log.String())
		}
	})
}

// send makes a request to one of the copies, and returns the answer.
func (w *world) send(copied int, method, path string) (status int, body string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.urls[copied]+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// eventually waits until it is so.
func (w *world) eventually(what string, so func() bool) {
	w.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not yet: %s", what)
		}
	}
}

// count returns the number of rows that a condition selects.
func (w *world) count(from string) (rows int) {
	w.Helper()
	if err := w.pool.QueryRow(w.Context(), "SELECT count(*) FROM "+from).Scan(&rows); err != nil {
		w.Fatal(err)
	}
	return rows
}

// The job runs on one of the copies, and is seen in what the service has of its own.
func TestService(t *testing.T) {
	w := startWorld(t, 2)
	for i := range w.urls {
		w.eventually("ready", func() bool { status, _ := w.send(i, "GET", "/readyz"); return status == http.StatusOK })
	}
	if status, body := w.send(0, "POST", "/orders"); status != http.StatusCreated {
		t.Fatalf("ordering: %d %s", status, body)
	}
	if status, body := w.send(1, "POST", "/invoices"); status != http.StatusAccepted {
		t.Fatalf("asking for invoices: %d %s", status, body)
	}
	w.eventually("a run", func() bool { return w.count(namespace+".runs WHERE job = 'invoices' AND outcome = 'succeeded'") == 1 })
	if n := w.count("orders WHERE invoiced IS NOT NULL"); n != 1 {
		t.Errorf("%d orders have invoices", n)
	}
	w.checkSeen()

	if _, err := w.pool.Exec(t.Context(), "DROP TABLE orders"); err != nil {
		t.Fatal(err)
	}
	w.send(0, "POST", "/invoices")
	select {
	case alert := <-w.alerts:
		if !strings.HasPrefix(alert, "failed: ") || !strings.Contains(alert, "orders") {
			t.Errorf("the alert is %q", alert)
		}
	case <-time.After(2 * time.Minute):
		t.Error("no alert")
	}
}

// checkSeen checks logs, metrics and spans of the run.
func (w *world) checkSeen() {
	w.Helper()
	lines := regexp.MustCompile(`(?m)^.*invoices written.*$`).FindAllString(w.log.String(), -1)
	if line := strings.Join(lines, "\n"); len(lines) != 1 || !strings.Contains(line, "service=shop") || !strings.Contains(line, "job=invoices") || !strings.Contains(line, "orders=1") {
		w.Errorf("the log of the job is %q", line)
	}
	w.eventually("one copy has counted the run", func() bool {
		counted := 0
		for i := range w.urls {
			_, metrics := w.send(i, "GET", "/metrics")
			counted += strings.Count(metrics, `quorate_ticks_total{job_name="invoices",outcome="succeeded"} 1`+"\n")
		}
		return counted == 1
	})
	reader := metric.NewManualReader(metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(w.counts))))
	metric.NewMeterProvider(metric.WithReader(reader))
	var read metricdata.ResourceMetrics
	if err := reader.Collect(w.Context(), &read); err != nil || !strings.Contains(fmt.Sprint(read.ScopeMetrics), "quorate_jobs") {
		w.Errorf("OpenTelemetry reads %v, %v", read.ScopeMetrics, err)
	}
	parents := map[string]string{} // the names of spans by those of their children
	w.eventually("the span of the tick", func() bool {
		names := map[string]string{}
		for _, s := range w.spans.GetSpans() {
			names[s.SpanContext.SpanID().String()] = s.Name
		}
		for _, s := range w.spans.GetSpans() {
			parents[s.Name] = names[s.Parent.SpanID().String()]
		}
		return parents["write invoices"] == "run" && parents["run"] == "tick invoices"
	})
}
