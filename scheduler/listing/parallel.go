package listing

import (
	"context"
	"sync"
	"sync/atomic"
)

// atOnce is how many reads of the nodes go on at once for one listing: enough to
// keep the nodes busy between two answers, too few to keep them from voting.
const atOnce = 16

// inParallel calls f for each index below n, some at once. After the first error
// no further call begins; it returns that error.
func inParallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, atOnce) {
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
