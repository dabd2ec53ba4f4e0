package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
)

type lazyKey struct{}

// Whatever is done to a lazyContext, and whoever has waited for it before, it answers
// as one of package context that the same was done to.
func TestLazyContextIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	steps := map[string]func(want, got func(error), of context.Context, parent func(error)){
		"wait":              func(_, _ func(error), of context.Context, _ func(error)) { _ = of.Done() },
		"end":               func(want, got func(error), _ context.Context, _ func(error)) { want(nil); got(nil) },
		"end for a cause":   func(want, got func(error), _ context.Context, _ func(error)) { want(cause); got(cause) },
		"end of the parent": func(_, _ func(error), _ context.Context, parent func(error)) { parent(errRemoved) },
		"pause":             func(_, _ func(error), _ context.Context, _ func(error)) { time.Sleep(600 * time.Millisecond) },
	}
	synctest.Test(t, func(t *testing.T) {
		names := slices.Sorted(maps.Keys(steps))
		for n := range 2 * 5 * 5 * 5 * 5 {
			parent, endParent := context.WithCancelCause(context.WithValue(t.Context(), lazyKey{}, "value"))
			want, got, end := likeAnyOther(parent, t, n%2 == 0)
			var done []string
			for left := n / 2; len(done) < 4; left /= 5 {
				done = append(done, names[left%5])
				steps[names[left%5]](end, got.end, got, endParent)
				synctest.Wait()
				if a, b := state(got), state(want); a != b {
					t.Fatalf("after %q: %s, want %s", done, a, b)
				}
			}
			if ended := isClosed(got.Done()); ended != (want.Err() != nil) {
				t.Fatalf("after %q it is done: %t", done, ended)
			}
			end(nil)
			got.end(nil)
			endParent(nil)
		}
	})
}

// likeAnyOther makes a lazyContext, and one of package context with what ends it.
func likeAnyOther(parent context.Context, t *testing.T, timed bool) (want context.Context, got *lazyContext, end func(error)) {
	t.Helper()
	want, end = context.WithCancelCause(parent)
	if !timed {
		return want, &lazyContext{parent: parent}, end
	}
	late := errors.New("late")
	want, cancel := context.WithTimeoutCause(want, time.Second, late)
	t.Cleanup(cancel)
	return want, within(parent, time.Second, late), end
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// state is what a context says of itself without being waited for.
func state(ctx context.Context) string {
	at, ok := ctx.Deadline()
	return fmt.Sprint(ctx.Err(), context.Cause(ctx), ctx.Value(lazyKey{}), at, ok)
}

// A call that lasts is found soon, the first and those after a pause, one that has
// returned never.
func TestCallsThatLastAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watch
		defer w.stop()
		for range 3 {
			slow, fast := newWatched(), newWatched()
			w.begin(slow)
			time.Sleep(quickly / 2)
			w.begin(fast)
			fast.arrive()
			time.Sleep(quickly * 3 / 2)
			synctest.Wait()
			if stage := slow.stage.Load(); stage != lasting {
				t.Errorf("the slow call is at stage %d after %v", stage, 2*quickly)
			}
			if stage := fast.stage.Load(); stage != gone {
				t.Errorf("the fast call is at stage %d", stage)
			}
			slow.arrive()
			time.Sleep(time.Minute)
		}
	})
}

// newWatched is a call of a run whose lease is kept already.
func newWatched() *call {
	return &call{attempt: &attempt{surroundings: &surroundings{cfg: new(Config)}, keeper: new(locking.Keeper)}, ctx: context.Background()}
}
