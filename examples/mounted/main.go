// Mounted is a web service that serves the API of its replica beside its own pages,
// under /admin/cron, for those whom it knows itself.
//
//	go run ./examples/mounted
//	curl http://127.0.0.1:8090/admin/cron/api/v1/jobs                      # refused
//	curl -H 'X-Session: ann' http://127.0.0.1:8090/admin/cron/api/v1/jobs  # as the service's own user
//
// Stop it with Ctrl-C. Here the nodes live inside the process, so that nothing else
// is needed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/replica"
	"github.com/quorate/quorate/scheduler/replica/dashboard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "127.0.0.1:8090", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// identify says who makes a request, as a service does that has sessions: a real one
// looks its cookie up.
func identify(r *http.Request) (identity.Identity, bool) {
	if r.Header.Get("X-Session") == "ann" {
		return identity.Identity{Name: "ann", Role: identity.Operator}, true
	}
	return identity.Identity{}, false
}

// run serves until ctx ends, then drains the replica.
func run(ctx context.Context, addr string, out io.Writer) error {
	embedded, err := devnodes.Start(3)
	if err != nil {
		return err
	}
	defer embedded.Close()
	r, err := newReplica(embedded.URLs())
	if err != nil {
		return err
	}
	cron, err := dashboard.Mount(r, dashboard.Config{BasePath: "/admin/cron", Anonymous: identity.AnonymousNone, Identify: identify})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the service's own page") })
	mux.Handle("/admin/cron/", cron)

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	err = r.Run(ctx)
	cron.Close()
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(shutdown))
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// newReplica has one job, which is run when somebody asks for it.
func newReplica(urls []string) (*replica.Replica, error) {
	return replica.New(replica.Config{
		Redis: replica.Redis{Nodes: urls, Embedded: true, RestartGrace: 2 * time.Second},
		Lock:  replica.Lock{TTL: 1500 * time.Millisecond}, // short, so that the wait for new nodes is
		Jobs: []replica.Job{{Name: "greet", Schedule: "@yearly", Func: func(_ context.Context, run jobs.Run) error {
			run.Logger.Info("hello")
			return nil
		}}},
	})
}
