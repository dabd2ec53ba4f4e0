package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/devnodes"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// Two replicas want the same tick; one runs it, and the other learns that it
// was done.
func Example() {
	ctx := context.Background()
	locker, end, err := connect()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	req := locking.Request{Name: "report", Tick: time.Now().Truncate(time.Minute), TTL: 15 * time.Second, Holder: "replica a"}
	lease, err := locker.TryAcquire(ctx, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	votes := lease.Claim().Votes
	fmt.Printf("replica a has %d of %d votes\n", votes.For, votes.Of)

	req.Holder = "replica b"
	_, err = locker.TryAcquire(ctx, req)
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		fmt.Printf("replica b: %v by %s\n", refused.Reason, refused.Holder)
	}

	if err := lease.Release(ctx, []byte(`{"outcome":"succeeded"}`)); err != nil {
		fmt.Println(err)
	}
	_, err = locker.TryAcquire(ctx, req)
	fmt.Println("done:", errors.Is(err, locking.ErrDone))
	// Output:
	// replica a has 3 of 3 votes
	// replica b: tick is claimed by replica a
	// done: true
}

// Only the lock, without ticks and without a scheduler: acquire it, keep it
// while working, and release it.
func Example_lock() {
	ctx := context.Background()
	locker, end, err := connect()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	req := locking.Request{Name: "stock", TTL: 15 * time.Second, Holder: "worker 1"}
	lease, err := locking.Acquire(ctx, locker, req, locking.Retry{Tries: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	hold := locking.HoldConfig{Every: req.TTL / 3, Margin: req.TTL / 10}
	err = locking.Hold(ctx, lease, hold, func(context.Context) error {
		// Here nobody else works on the stock; writes carry lease.Claim().Token.
		req.Holder = "worker 2"
		_, err := locker.TryAcquire(ctx, req)
		if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
			fmt.Printf("worker 2: %v by %s, with the token of worker 1: %t\n",
				refused.Reason, refused.Holder, refused.HolderToken == lease.Claim().Token)
		}
		return nil
	})
	fmt.Println("worker 1:", err)
	fmt.Println("released:", lease.Release(ctx, nil))

	next, err := locking.Acquire(ctx, locker, req, locking.Retry{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("worker 2 has a larger token:", next.Claim().Token > lease.Claim().Token)
	fmt.Println("released:", next.Release(ctx, nil))
	// Output:
	// worker 2: lock is held by worker 1, with the token of worker 1: true
	// worker 1: <nil>
	// released: <nil>
	// worker 2 has a larger token: true
	// released: <nil>
}

// connect returns a Locker over three nodes that were never used before.
func connect() (locker locking.Locker, end func(), err error) {
	embedded, err := devnodes.Start(3)
	if err != nil {
		return nil, nil, err
	}
	cfg := nodes.Config{Embedded: true, Timeout: time.Second}
	for _, url := range embedded.URLs() {
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{URL: url})
	}
	set, err := nodes.Open(cfg)
	if err != nil {
		embedded.Close()
		return nil, nil, err
	}
	l, err := redlock.New(set, redlock.Config{})
	if err == nil {
		err = set.Init(context.Background(), false)
	}
	if err != nil {
		_ = set.Close()
		embedded.Close()
		return nil, nil, err
	}
	return l, func() {
		_ = l.Close()
		_ = set.Close()
		embedded.Close()
	}, nil
}
