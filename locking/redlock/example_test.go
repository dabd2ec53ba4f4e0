package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/devnodes"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// Two replicas want the same tick; one runs it, and the other learns that it
// was done.
func Example() {
	ctx := context.Background()
	embedded, err := devnodes.Start(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer embedded.Close()
	cfg := nodes.Config{Embedded: true}
	for _, url := range embedded.URLs() {
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{URL: url})
	}
	set, err := nodes.Open(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = set.Close() }()
	if err := set.Init(ctx, false); err != nil { // these nodes never served before
		fmt.Println(err)
		return
	}
	locker, err := redlock.New(set, redlock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = locker.Close() }()

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
