// Embedded is a web service that embeds a replica: its own handlers, and a job
// that runs on one replica per tick however many copies of the service there are.
//
//	go run ./examples/embedded
//
// Watch it count visits every two seconds; stop it with Ctrl-C and see it drain.
// Here the nodes live inside the process, so that nothing else is needed. A real
// service calls replica.Load("config.yaml", registry) instead of newReplica.
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
	"github.com/quorate/quorate/scheduler/replica"
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

// CountParams are the job's params in the configuration, decoded strictly.
type CountParams struct {
	Unit string `json:"unit"`
}

// count is the job: an ordinary method, with its run's tick and token.
func (s *service) count(_ context.Context, run jobs.Run, p CountParams) error {
	fmt.Fprintf(s.out, "tick %s, token %d: %d %s so far\n", jobs.FormatTick(run.Tick), run.Token, s.visits.Load(), p.Unit)
	return nil
}

// run serves until ctx ends, then drains the replica and closes the server.
func run(ctx context.Context, out io.Writer) error {
	s := &service{out: out}
	registry := jobs.NewRegistry()
	jobs.Register(registry, "count", s.count)

	embedded, err := devnodes.Start(3)
	if err != nil {
		return err
	}
	defer embedded.Close()
	r, err := newReplica(registry, embedded.URLs())
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
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(shutdown))
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	fmt.Fprintln(out, "drained")
	return err
}

// newReplica writes in Go what config.yaml would say.
func newReplica(registry *jobs.Registry, urls []string) (*replica.Replica, error) {
	config := replica.DefaultConfig()
	for _, url := range urls {
		config.Redis.Nodes = append(config.Redis.Nodes, replica.NodeEntry{URL: url})
	}
	config.Lock.TTL = 1500 * time.Millisecond // short, so that the wait for new nodes is
	config.Lock.SafetyMargin = 200 * time.Millisecond
	config.Redis.RestartGrace = 2 * time.Second
	config.Jobs = map[string]replica.JobConfig{
		"count": {
			Func: "count", Schedule: replica.Specs{"@every 2s"}, Params: map[string]any{"unit": "visits"},
			JobPolicy: replica.DefaultPolicy(),
		},
	}
	return replica.New(config, registry, replica.Options{Embedded: true})
}
