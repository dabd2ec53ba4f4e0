package replica_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/traces"
)

// A service hands its TracerProvider to the replica. Spans that its functions make
// then hang below those of the tick that they run.
func ExampleConfig_traces() {
	embedded, err := devnodes.Start(1) // a real service has nodes of its own
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	kept := tracetest.NewInMemoryExporter() // and an exporter to its collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	report := func(ctx context.Context, _ jobs.Run) error {
		_, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("app").Start(ctx, "query")
		defer span.End()
		cancel() // one run is enough to be shown
		return nil
	}
	r, err := replica.New(replica.Config{
		Redis: settings.Redis{Nodes: settings.Nodes(embedded.URLs()...), RestartGrace: time.Second}, Embedded: true,
		Lock:   settings.Lock{TTL: 900 * time.Millisecond}, // short, so that the wait for new nodes is
		Jobs:   []jobs.Job{{Name: "report", Spec: "@every 1s", Handler: report}},
		Logger: slog.New(slog.DiscardHandler),
		Traces: traces.New(provider),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		log.Fatal(err)
	}
	names := map[trace.SpanID]string{}
	for _, span := range kept.GetSpans() {
		names[span.SpanContext.SpanID()] = span.Name
	}
	for _, span := range kept.GetSpans() {
		if parent, ok := names[span.Parent.SpanID()]; ok {
			fmt.Println(span.Name, "in", parent)
		}
	}
	// Unordered output:
	// claim in tick report
	// query in run
	// run in tick report
	// finish in tick report
}
