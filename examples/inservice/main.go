// Inservice is a web service as teams have them, with chi, pgx, errgroup, and metrics, logs and
// traces of its own. It embeds a replica: its job runs once per tick, however many copies of the
// service there are.
//
//	DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres go run .
//	curl -X POST http://127.0.0.1:8090/orders
//	curl -X POST http://127.0.0.1:8090/invoices   # runs the job now, on one copy
//	curl http://127.0.0.1:8090/readyz
//
// Start it twice, with ADDR=127.0.0.1:8091 for the second. docs/in-your-service.md explains it.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx); err != nil {
		log.Fatal(err)
	}
}

func start(ctx context.Context) error {
	addr, ok := os.LookupEnv("ADDR")
	if !ok {
		addr = "127.0.0.1:8090"
	}
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close() // after the drain, in which jobs need it
	if err := migrate(ctx, pool); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	s := &service{pool: pool, registry: prometheus.NewRegistry(), log: slog.Default(), tracing: otel.GetTracerProvider()}
	return s.run(ctx, listener)
}

// run serves requests and runs ticks until ctx ends, or until one of both fails.
func (s *service) run(ctx context.Context, listener net.Listener) error {
	r, err := s.newReplica()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: s.router(r), ReadHeaderTimeout: 5 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.Run(ctx) }) // blocks; drains when ctx ends
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return server.Shutdown(shutdown)
	})
	return group.Wait()
}
