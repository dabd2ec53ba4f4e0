// Embedded is a web service that embeds a replica: its own handlers, and a job
// that runs on one replica per tick however many copies of the service there are.
//
//	go run ./examples/embedded
//
// Watch it count visits every two seconds; stop it with Ctrl-C and see it drain.
// Here the nodes live inside the process, so that nothing else is needed: a real
// service has only the URLs of its nodes under Redis, and no Lock.
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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A service is what there would be without any jobs.
type service struct {
	visits atomic.Int64
	out    io.Writer
}

func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, "visit %d\n", s.visits.Add(1))
}

// count is the job: an ordinary method, with its run's tick and token.
func (s *service) count(_ context.Context, run jobs.Run) error {
	fmt.Fprintf(s.out, "tick %s, token %d: %d visits so far\n", jobs.FormatTick(run.Tick), run.Token, s.visits.Load())
	return nil
}

// run serves until ctx ends, then drains the replica and closes the server.
func run(ctx context.Context, out io.Writer) error {
	s := &service{out: out}
	nodes, err := devnodes.Start(3)
	if err != nil {
		return err
	}
	defer nodes.Close()
	r, err := replica.New(replica.Config{
		Redis: settings.Redis{Nodes: settings.Nodes(nodes.URLs()...), RestartGrace: 2 * time.Second}, Embedded: true,
		Lock: settings.Lock{TTL: 1500 * time.Millisecond}, // short, so that the wait for new nodes is
		Jobs: []jobs.Job{{Name: "count", Spec: "@every 2s", Handler: s.count}},
	})
	if err != nil {
		return err
	}

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving on http://%s\n", listener.Addr())
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	err = r.Run(ctx) // blocks; drains when ctx ends
	err = errors.Join(err, server.Close())
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	fmt.Fprintln(out, "drained")
	return err
}
