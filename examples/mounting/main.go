// Mounting is a web service that serves the dashboard and the API of its replica beside its
// own pages, under /admin/cron, to its own users. It does so with net/http, chi, gin or echo:
//
//	go run . -router chi
//
// Open http://127.0.0.1:8090 and log in. Stop it with Ctrl-C. The nodes are embedded, so it
// needs nothing else.
//
// To mount the dashboard in your service, copy the file of your router, and [service.identify]
// with your own sessions. Three rules hold for every router:
//
//   - The dashboard gets the whole path: do not strip the prefix, which is its BasePath.
//   - Middleware for the prefix must neither buffer answers nor limit their time, since event
//     streams stay open. The dashboard limits the time of all other requests itself.
//   - Leave CSRF tokens out for the prefix. The dashboard refuses commands from pages of other
//     origins itself.
package main

import (
	"context"
	"errors"
	"flag"
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
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
)

// prefix is where the dashboard is.
const prefix = "/admin/cron"

func main() {
	name := flag.String("router", "net/http", "net/http, chi, gin or echo")
	flag.Parse()
	router, ok := routers()[*name]
	if !ok {
		log.Fatalf("there is no router %q", *name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "127.0.0.1:8090", router, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A router returns the handler of the whole service, with the dashboard below prefix.
type router func(s *service, cron http.Handler) http.Handler

func routers() map[string]router {
	return map[string]router{"net/http": netHTTP, "chi": withChi, "gin": withGin, "echo": withEcho}
}

// run serves until ctx ends, then drains the replica.
func run(ctx context.Context, addr string, router router, out io.Writer) error {
	embedded, err := devnodes.Start(3)
	if err != nil {
		return err
	}
	defer embedded.Close()
	r, err := newReplica(embedded.URLs())
	if err != nil {
		return err
	}
	s := newService()
	cron, err := dashboard.Mount(r, dashboard.Config{HTTP: settings.HTTP{BasePath: prefix}, Identify: s.identify})
	if err != nil {
		return err
	}

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving on http://%s\n", listener.Addr())
	server := &http.Server{Handler: router(s, cron), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	err = r.Run(ctx) // blocks; drains when ctx ends
	cron.Close()     // ends the event streams, which Shutdown would wait for
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(shutdown))
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// newReplica has one job, which runs when somebody triggers it.
func newReplica(urls []string) (*replica.Replica, error) {
	return replica.New(replica.Config{
		Redis: settings.Redis{Nodes: settings.Nodes(urls...), RestartGrace: 2 * time.Second}, Embedded: true,
		Lock: settings.Lock{TTL: 1500 * time.Millisecond}, // short, since new nodes abstain for as long
		Jobs: []jobs.Job{{Name: "greet", Spec: "@yearly", Handler: func(_ context.Context, run jobs.Run) error {
			run.Logger.Info("hello")
			return nil
		}}},
	})
}
