// Stalewriter shows what a fencing token is for. A replica wins a tick and is
// paused for longer than its lease, as by a long garbage collection or a frozen
// virtual machine. Another one wins the next tick and writes. Then the first one
// wakes up and writes, too, believing that it is still its turn: the store
// refuses it, because it has seen a larger token.
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
	"sync"
	"time"

	"github.com/quorate/quorate/internal/devnodes"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A store is a resource that protects itself: it remembers the largest token
// it has seen and refuses a smaller one. Check and write are one step.
type store struct {
	mu    sync.Mutex
	token locking.Token
	value string
}

func (s *store) write(token locking.Token, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.token {
		return fmt.Errorf("refused: token %d is older than %d", token, s.token)
	}
	s.token, s.value = token, value
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const ttl = time.Second

// run tells the story and returns an error if it ends otherwise than promised.
func run(ctx context.Context, out io.Writer) error {
	embedded, err := devnodes.Start(5)
	if err != nil {
		return err
	}
	defer embedded.Close()
	paused, closePaused, err := newLocker(ctx, embedded.URLs())
	if err != nil {
		return err
	}
	defer closePaused()
	healthy, closeHealthy, err := newLocker(ctx, embedded.URLs())
	if err != nil {
		return err
	}
	defer closeHealthy()

	var invoices store
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
	if err := invoices.write(second.Claim().Token, "by B"); err != nil {
		return err
	}
	fmt.Fprintln(out, "replica B writes: accepted")
	if err := second.Release(ctx, nil); err != nil {
		return err
	}

	fmt.Fprintln(out, "replica A wakes up and writes, too")
	refused := invoices.write(first.Claim().Token, "by A, much too late")
	if refused == nil {
		return fmt.Errorf("the store took a stale write with token %d", first.Claim().Token)
	}
	fmt.Fprintf(out, "%v\nthe store still says: %s\n", refused, invoices.value)
	return nil
}

// acquire tries until the lease in the way has run out.
func acquire(ctx context.Context, locker locking.Locker, req locking.Request, out io.Writer) (locking.Lease, error) {
	for try := 0; ; try++ {
		lease, err := locker.TryAcquire(ctx, req)
		if err == nil || try == 50 {
			return lease, err
		}
		if taken, ok := errors.AsType[*locking.AcquireError](err); ok && try == 0 {
			fmt.Fprintf(out, "replica B has to wait: the lease of replica A lasts until %s\n", taken.Until.Format("15:04:05.000"))
		}
		time.Sleep(ttl / 10)
	}
}

// newLocker connects one replica to the nodes and says that these are new.
func newLocker(ctx context.Context, urls []string) (*redlock.Locker, func(), error) {
	config := nodes.Config{Namespace: "example", Timeout: 100 * time.Millisecond, TTL: ttl, Grace: 2 * ttl, Embedded: true}
	for _, url := range urls {
		config.Nodes = append(config.Nodes, nodes.NodeConfig{URL: url})
	}
	set, err := nodes.Open(config)
	if err != nil {
		return nil, nil, err
	}
	if err := set.Init(ctx, false); err != nil {
		return nil, nil, err
	}
	locker, err := redlock.New(set, redlock.Config{})
	if err != nil {
		return nil, nil, err
	}
	return locker, func() {
		_ = locker.Close()
		_ = set.Close()
	}, nil
}
