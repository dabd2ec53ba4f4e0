package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/devnodes"
)

// Two replicas want the same tick; one runs it, and the other learns that it
// was done.
func Example() {
	nodes, err := devnodes.Start(3) // in production, Redis servers
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nodes.Close()
	ctx := context.Background()
	locker, err := redlock.Open(ctx, redlock.Config{Nodes: nodes.URLs(), New: true, Embedded: true, Timeout: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()

	req := locking.Request{Name: "report", Tick: time.Now().Truncate(time.Minute), TTL: 15 * time.Second, Holder: "replica a"}
	lease, err := locker.TryAcquire(ctx, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	votes := lease.Claim().Votes
	fmt.Println("replica a has a quorum:", votes.For > votes.Of/2)

	req.Holder = "replica b"
	_, err = locker.TryAcquire(ctx, req)
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		fmt.Println("replica b is refused: it is the tick of", refused.Holder)
	}

	if err := lease.Release(ctx, []byte(`{"outcome":"succeeded"}`)); err != nil {
		fmt.Println(err)
	}
	_, err = locker.TryAcquire(ctx, req)
	fmt.Println("done:", errors.Is(err, locking.ErrDone))
	// Output:
	// replica a has a quorum: true
	// replica b is refused: it is the tick of replica a
	// done: true
}

// Only the lock, without ticks and without a scheduler.
func ExampleOpen() {
	nodes, err := devnodes.Start(3) // in production, Redis servers
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nodes.Close()
	ctx := context.Background()
	locks, err := redlock.Open(ctx, redlock.Config{Nodes: nodes.URLs(), New: true, Embedded: true, Timeout: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()

	var last locking.Token
	for range 2 {
		err = locking.Do(ctx, locks, "invoices", func(ctx context.Context, claim locking.Claim) error {
			// No other process works on the invoices until ctx ends; writes carry
			// claim.Token.
			_, err := locks.TryAcquire(ctx, locking.Request{Name: "invoices"})
			fmt.Println("another one:", errors.Is(err, locking.ErrTaken), "a larger token:", claim.Token > last)
			last = claim.Token
			return nil
		})
		fmt.Println("done:", err)
	}
	// Output:
	// another one: true a larger token: true
	// done: <nil>
	// another one: true a larger token: true
	// done: <nil>
}
