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
	"github.com/quorate/quorate/scheduler/replica"
)

// A service hands its TracerProvider to the replica. Spans that its functions make
// then hang below those of the tick that they run.
func ExampleOptions_tracerProvider() {
	embedded, err := devnodes.Start(1) // a real service has nodes of its own
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	kept := tracetest.NewInMemoryExporter() // and an exporter to its collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	registry := jobs.NewRegistry()
	jobs.Register(registry, "report", func(ctx context.Context, _ jobs.Run, _ jobs.NoParams) error {
		_, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("app").Start(ctx, "query")
		defer span.End()
		cancel() // one run is enough to be shown
		return nil
	})
	r, err := replica.New(exampleConfig(embedded.URLs()), registry, replica.Options{
		Embedded: true, Logger: slog.New(slog.DiscardHandler),
		TracerProvider: provider,
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

// exampleConfig says what config.yaml would, with times that are short enough for
// an example.
func exampleConfig(urls []string) *replica.Config {
	config := replica.DefaultConfig()
	for _, url := range urls {
		config.Redis.Nodes = append(config.Redis.Nodes, replica.NodeEntry{URL: url})
	}
	config.Lock.TTL, config.Lock.SafetyMargin = 900*time.Millisecond, 100*time.Millisecond
	config.Redis.RestartGrace = time.Second
	config.Jobs = map[string]replica.JobConfig{
		"report": {Func: "report", Schedule: replica.Specs{"@every 1s"}, JobPolicy: replica.DefaultPolicy()},
	}
	return config
}
