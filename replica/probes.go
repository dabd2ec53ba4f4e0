package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Times of the probes' server. Kubelets give up after a second by default.
const (
	probeTimeout  = 5 * time.Second
	probeShutdown = time.Second
)

// maxHeaderBytes bounds the header of a request.
const maxHeaderBytes = 32 << 10

// probes serves /healthz, /readyz and /metrics.
type probes struct {
	listener net.Listener // nil if the configuration wants no probes
	server   *http.Server
	served   chan error
}

// startProbes listens on addr, if any. It never speaks to Redis: reasons is
// what the replica knows already, and so are its metrics, if it has any.
func startProbes(ctx context.Context, addr string, log *slog.Logger, reasons func() []string, m Metrics) (*probes, error) {
	if addr == "" {
		return &probes{}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http.probes_listen: cannot listen on %s: %w; choose a free port, or 0 for any", addr, err)
	}
	p := &probes{
		listener: listener,
		server: &http.Server{
			Handler: probeHandler(reasons, m), ReadTimeout: probeTimeout, WriteTimeout: probeTimeout,
			MaxHeaderBytes: maxHeaderBytes,
			ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
		served: make(chan error, 1),
	}
	go func() { p.served <- p.server.Serve(listener) }()
	what := "serving /healthz and /readyz"
	if m != nil {
		what = "serving /healthz, /readyz and /metrics"
	}
	log.Info(what, "address", listener.Addr().String())
	return p, nil
}

// stop ends the server and waits for it.
func (p *probes) stop() error {
	if p.listener == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeShutdown)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = p.server.Close() // a client that does not finish its request
	}
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("serving the probes: %w", err)
	}
	return nil
}

// probeHandler answers /healthz with 200 as long as the process serves at all,
// and /readyz with 503 and one line per reason while it takes no ticks.
func probeHandler(reasons func() []string, m Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := reasons(); len(why) > 0 {
			respond(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
			return
		}
		respond(w, http.StatusOK, "ok")
	})
	if m != nil {
		mux.Handle("GET /metrics", m.Handler())
	}
	return mux
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // a prober that went away
}
