package view

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxParallel bounds the parallel reads of one listing: enough to keep the nodes busy, too
// few to delay their votes.
const maxParallel = 16

// inParallel calls f for each index below n, up to maxParallel in parallel. It returns the
// first error and starts no further call after it.
func inParallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, maxParallel) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					cancel(err) // the first one stays
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
