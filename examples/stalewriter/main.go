// Stalewriter shows what a fencing token is for. A replica wins a tick and is
// paused for longer than its lease, as by a long garbage collection or a frozen
// virtual machine. Another one wins the next tick and writes. Then the first one
// wakes up and writes, too, believing that it is still its turn: the guards
// refuse it, because they have seen a larger token. One guards a Redis, one an
// HTTP service.
//
//	go run ./examples/stalewriter
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/devnodes"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const ttl = 2 * time.Second

// run tells the story and returns an error if it ends otherwise than promised.
func run(ctx context.Context, out io.Writer) error {
	embedded, err := devnodes.Start(5)
	if err != nil {
		return err
	}
	defer embedded.Close()
	paused, err := open(ctx, embedded.URLs())
	if err != nil {
		return err
	}
	defer func() { _ = paused.Close() }()
	healthy, err := open(ctx, embedded.URLs())
	if err != nil {
		return err
	}
	defer func() { _ = healthy.Close() }()
	invoices, err := openInvoices()
	if err != nil {
		return err
	}
	defer invoices.close()

	now := time.Now().Truncate(time.Second)
	first, err := paused.TryAcquire(ctx, locking.Request{Name: "invoices", Tick: now.Add(-time.Second), TTL: ttl, Holder: "paused"})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "replica A wins a tick with token %d, and is paused: it neither extends its lease nor notices its end\n", first.Claim().Token)

	second, err := acquire(ctx, healthy, locking.Request{Name: "invoices", Tick: now, TTL: ttl, Holder: "healthy"}, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "replica B wins the next tick with token %d\n", second.Claim().Token)
	if err := invoices.write(ctx, second.Claim(), "by B"); err != nil {
		return err
	}
	fmt.Fprintln(out, "replica B writes: accepted")
	if err := second.Release(ctx, nil); err != nil {
		return err
	}

	fmt.Fprintln(out, "replica A wakes up and writes, too")
	return staleWrites(ctx, invoices, first.Claim(), out)
}

// staleWrites writes to both stores with a claim that has been overtaken.
func staleWrites(ctx context.Context, s *invoices, stale fence.Bearer, out io.Writer) error {
	// In a job the scheduler is the observer: it logs, and tells the ledger.
	ctx = fence.WithObserver(ctx, func(e *fence.StaleError) {
		fmt.Fprintf(out, "refused: token %d is older than %d\n", e.Token, e.Seen)
	})
	for _, write := range []func(context.Context, fence.Bearer, string) error{s.toRedis, s.toService} {
		err := write(ctx, stale, "by A, much too late")
		if err == nil {
			return errors.New("a stale write was accepted")
		}
		if !errors.Is(err, fence.ErrStale) {
			return err
		}
	}
	redis, service := s.read(ctx)
	fmt.Fprintf(out, "the Redis still says: %s\nthe service still says: %s\n", redis, service)
	return nil
}

// acquire tries until the blocking lease has expired.
func acquire(ctx context.Context, locker locking.Locker, req locking.Request, out io.Writer) (locking.Lease, error) {
	lease, err := locker.TryAcquire(ctx, req)
	if taken, ok := errors.AsType[*locking.AcquireError](err); ok {
		fmt.Fprintf(out, "replica B has to wait: the lease of replica A lasts until %s\n", taken.Until.Format("15:04:05.000"))
		return locking.Acquire(ctx, locker, req, locking.Retry{Tries: 100})
	}
	return lease, err
}

// open connects one replica to the nodes and says that these are new.
func open(ctx context.Context, urls []string) (*redlock.Locker, error) {
	return redlock.Open(ctx, redlock.Config{
		Nodes: urls, New: true, Namespace: "example", Timeout: ttl / 5, TTL: ttl, Grace: 2 * ttl, Embedded: true,
	})
}
