// Customers gives every customer a schedule of their own: rows of a table, not
// lines of a configuration. Rows come, change and go while the replica runs.
//
//	go run ./examples/customers
//
// Watch ada's invoices every second, then bob joining, ada changing to every two
// seconds, and bob leaving. It ends by itself. The table stands for one in a
// database; the nodes live inside the process, so that nothing else is needed.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves the table while it changes, then drains.
func run(ctx context.Context, out io.Writer) error {
	embedded, err := devnodes.Start(3)
	if err != nil {
		return err
	}
	defer embedded.Close()
	customers := &table{rows: map[string]string{}}
	billing := billing{customers: customers, out: out, sent: make(chan struct{}, 100)}
	r, err := newReplica(embedded.URLs(), &billing)
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for _, step := range []struct {
		what   string
		change func()
	}{
		{"ada is a customer, billed every second", func() { customers.put("ada", "@every 1s") }},
		{"bob joins", func() { customers.put("bob", "@every 1s") }},
		{"ada changes to every two seconds", func() { customers.put("ada", "@every 2s") }},
		{"the database is down: nothing changes", func() { customers.fail(fmt.Errorf("connection refused")) }},
		{"it is back, and bob has left", func() { customers.fail(nil); customers.remove("bob") }},
	} {
		fmt.Fprintln(out, "--", step.what)
		step.change()
		r.Refresh() // else the change is seen within scheduler.source_every
		if !billing.wait(ctx, 4) {
			break
		}
	}
	stop()
	err = <-ended // blocks; drains
	fmt.Fprintln(out, "drained")
	return err
}

// newReplica has no job of its own: all are in the table.
func newReplica(urls []string, b *billing) (*replica.Replica, error) {
	return replica.New(replica.Config{
		Redis:  settings.Redis{Nodes: settings.Nodes(urls...), RestartGrace: 2 * time.Second},
		Lock:   settings.Lock{TTL: 1500 * time.Millisecond}, // short, so that the wait for new nodes is
		Source: b, Logger: slog.New(slog.DiscardHandler), Embedded: true,
		Observer: func(e event.Event) {
			switch e.Kind {
			case event.Updated:
				fmt.Fprintln(b.out, "   ", e.Diff)
			case event.UpdateFailed:
				b.failed(e.Err)
			}
		},
	})
}
