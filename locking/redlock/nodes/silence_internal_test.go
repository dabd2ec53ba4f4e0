package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowSet is a cluster whose every node answers the way serve does.
func slowSet(t *testing.T, size int, serve func(node int, ctx context.Context, calls int) error) (*Set, *Script) {
	t.Helper()
	cfg := Config{Timeout: laneTimeout, TTL: 4 * lanePatience}
	for i := range size {
		cfg.Nodes = append(cfg.Nodes, NodeConfig{URL: fmt.Sprintf("redis://127.0.0.1:%d", i+1)})
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	script := NewScript("any", "").Batched()
	for i, n := range s.nodes {
		n.transport.(*wire).run = func(ctx context.Context, p program, keys []string, _ []any) (any, error) {
			if err := serve(i, ctx, len(keys)-1); err != nil {
				return nil, err
			}
			if p == script.one {
				return []any{"OK", "1"}, nil
			}
			all := []any{int64(len(keys) - 1), "1", "2"}
			for range keys[1:] {
				all = append(all, int64(1), "OK")
			}
			return all, nil
		}
	}
	return s, script
}

// takes returns how a server answers that needs so long for each call.
func takes(perCall time.Duration) func(ctx context.Context, calls int) error {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, calls int) error {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-turn }()
		return wait(ctx, time.Duration(calls)*perCall)
	}
}

// wait is a sleep that ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A thousand calls at nodes that do two thousand a second are all answered by a
// quorum, though most wait for longer than a timeout: they wait here, not there.
// The nodes get them in different orders, so the last may be left out of a call.
func TestBusyNodesLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := []func(context.Context, int) error{takes(time.Millisecond / 2), takes(time.Millisecond / 2), takes(time.Millisecond / 2)}
		s, script := slowSet(t, len(nodes), func(node int, ctx context.Context, calls int) error { return nodes[node](ctx, calls) })
		defer s.Close()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				answers := 0
				for _, r := range s.Call(t.Context(), script, []string{"x"}) {
					switch took := r.Received.Sub(r.Sent); {
					case r.Unsent():
					case r.Err != nil:
						t.Error(r.Err)
					case took > laneTimeout:
						t.Errorf("the request seems to have taken %v: waiting before it counts", took)
					default:
						answers++
					}
				}
				if answers < 2 {
					t.Errorf("%d of 3 nodes have answered", answers)
				}
			})
		}
		wg.Wait()
	})
}

// Where the other nodes have answered, nobody waits long for being sent to a slow
// one; it learns nothing of the call, and is not down.
func TestOneSlowNodeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := takes(5 * time.Millisecond)
		s, script := slowSet(t, 3, func(node int, ctx context.Context, calls int) error {
			if node == 0 {
				return slow(ctx, min(calls, 10))
			}
			return nil
		})
		defer s.Close()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				start := time.Now()
				for i, r := range s.Call(t.Context(), script, []string{"x"}) {
					if r.Err != nil && (i > 0 || !r.Unsent()) {
						t.Errorf("node %d: %v", i, r.Err)
					}
				}
				if took := time.Since(start); took > laneTimeout {
					t.Errorf("a call took %v", took)
				}
			})
		}
		wg.Wait()
	})
}

// A request that is not answered in time while others are is no sign of a node that
// is down; silence for a timeout is, once.
func TestAnswersAreSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		s, script := slowSet(t, 1, func(_ int, ctx context.Context, _ int) error {
			mu.Lock()
			asked++
			first := asked == 1
			mu.Unlock()
			if first || asked > 2 {
				<-ctx.Done()
				return ctx.Err()
			}
			return wait(ctx, laneTimeout/4)
		})
		defer s.Close()
		late := make(chan Reply, 1)
		go func() { late <- s.Call(t.Context(), script, []string{"x"})[0] }()
		synctest.Wait()
		if r := s.Call(t.Context(), script, []string{"x"})[0]; r.Err != nil {
			t.Error(r.Err)
		}
		if r := <-late; !errors.Is(r.Err, errLate) || r.Unsent() {
			t.Errorf("the late one: %v", r.Err)
		}
		if cause := s.nodes[0].health.get().cause; cause != nil {
			t.Errorf("the node counts as down: %v", cause)
		}
		if r := s.Call(t.Context(), script, []string{"x"})[0]; !errors.Is(r.Err, context.DeadlineExceeded) || errors.Is(r.Err, errLate) {
			t.Errorf("the silent one: %v", r.Err)
		}
		start := time.Now()
		if r := s.Call(t.Context(), script, []string{"x"})[0]; !errors.Is(r.Err, ErrDown) || time.Since(start) > 0 {
			t.Errorf("after it: %v", r.Err)
		}
	})
}

// A process that notices its own deadline late cannot blame the node.
func TestOwnDelayIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, script := slowSet(t, 1, func(_ int, ctx context.Context, _ int) error {
			time.Sleep(2 * laneTimeout)
			return ctx.Err()
		})
		defer s.Close()
		if r := s.Call(t.Context(), script, []string{"x"})[0]; !errors.Is(r.Err, errLate) {
			t.Error(r.Err)
		}
		if cause := s.nodes[0].health.get().cause; cause != nil {
			t.Errorf("the node counts as down: %v", cause)
		}
	})
}
