package main

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/commands/sqlcommands"
)

// A service is what there was before any job.
type service struct {
	pool     *pgxpool.Pool
	registry *prometheus.Registry
	log      *slog.Logger
	tracing  trace.TracerProvider
}

func (s *service) router(r *replica.Replica) http.Handler {
	router := chi.NewRouter()
	router.Use(middleware.Recoverer)
	router.Post("/orders", s.order)
	router.Post("/invoices", s.invoiceNow)
	router.Handle("/metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	router.Get("/readyz", r.ServeReady) // 503 and the reasons while the replica takes no ticks
	return router
}

func (s *service) order(w http.ResponseWriter, r *http.Request) {
	if _, err := s.pool.Exec(r.Context(), "INSERT INTO orders DEFAULT VALUES"); err != nil {
		s.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// invoiceNow asks for a run of the job. Whatever else the transaction does, the run is requested if
// it commits.
func (s *service) invoiceNow(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := sqlcommands.Trigger(ctx, tx.Exec, namespace, commands.Command{Job: "invoices", By: "web"})
		return err
	})
	if err != nil {
		s.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s *service) fail(w http.ResponseWriter, err error) {
	s.log.Error("a request has failed", "error", err)
	http.Error(w, "try again later", http.StatusInternalServerError)
}
