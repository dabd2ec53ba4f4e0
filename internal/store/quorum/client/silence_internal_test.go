package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// A cluster is nodes whose every server answers the way serve does.
type cluster struct {
	links  []*Link
	script *Script
}

func newCluster(size int, serve func(node int, ctx context.Context, calls int) error) cluster {
	c := cluster{script: NewRule("any", "", "")}
	for i := range size {
		l := NewLink(fmt.Sprint("node-", i), URL{Addr: "127.0.0.1:1"}, Config{Timeout: laneTimeout, Patience: lanePatience})
		l.transport.(*client).run = func(ctx context.Context, p *redis.Script, _, keys int, _ []any) (any, error) {
			if err := serve(i, ctx, keys-1); err != nil {
				return nil, err
			}
			if p == c.script.one {
				return []any{"OK", "1"}, nil
			}
			all := []any{int64(keys - 1), "1", "2"}
			for range keys - 1 {
				all = append(all, int64(1), "OK")
			}
			return all, nil
		}
		c.links = append(c.links, l)
	}
	return c
}

func (c cluster) close(t *testing.T) {
	for _, l := range c.links {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// call calls all nodes that are not down, and lets them hear of it.
func (c cluster) call(ctx context.Context) []Answer {
	header, keys := &Header{Key: "node"}, NewKeys([]string{"x"})
	fan := &Fan{Quorum: len(c.links)/2 + 1}
	answers := make([]Answer, len(c.links))
	var wg sync.WaitGroup
	for i, l := range c.links {
		if answers[i].Err = l.Admit(0); answers[i].Err != nil {
			continue
		}
		wg.Add(1)
		fan.Start(ctx, l, c.script, header, keys, []any{"a"}, func(a Answer) {
			defer wg.Done()
			answers[i] = a
			l.Observe(context.Background(), a.Err)
		})
	}
	wg.Wait()
	return answers
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
		c := newCluster(len(nodes), func(node int, ctx context.Context, calls int) error { return nodes[node](ctx, calls) })
		defer c.close(t)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				answers := 0
				for _, r := range c.call(t.Context()) {
					switch took := r.Received.Sub(r.Sent); {
					case Unsent(r.Err):
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
		c := newCluster(3, func(node int, ctx context.Context, calls int) error {
			if node == 0 {
				return slow(ctx, min(calls, 10))
			}
			return nil
		})
		defer c.close(t)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				start := time.Now()
				for i, r := range c.call(t.Context()) {
					if r.Err != nil && (i > 0 || !Unsent(r.Err)) {
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
		c := newCluster(1, func(_ int, ctx context.Context, _ int) error {
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
		defer c.close(t)
		late := make(chan Answer, 1)
		go func() { late <- c.call(t.Context())[0] }()
		synctest.Wait()
		if r := c.call(t.Context())[0]; r.Err != nil {
			t.Error(r.Err)
		}
		if r := <-late; !errors.Is(r.Err, errLate) || Unsent(r.Err) {
			t.Errorf("the late one: %v", r.Err)
		}
		if _, cause := c.links[0].Health(); cause != nil {
			t.Errorf("the node counts as down: %v", cause)
		}
		if r := c.call(t.Context())[0]; !errors.Is(r.Err, context.DeadlineExceeded) || errors.Is(r.Err, errLate) {
			t.Errorf("the silent one: %v", r.Err)
		}
		start := time.Now()
		if r := c.call(t.Context())[0]; !errors.Is(r.Err, ErrDown) || time.Since(start) > 0 {
			t.Errorf("after it: %v", r.Err)
		}
	})
}

// A process that notices its own deadline late cannot blame the node.
func TestOwnDelayIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1, func(_ int, ctx context.Context, _ int) error {
			time.Sleep(2 * laneTimeout)
			return ctx.Err()
		})
		defer c.close(t)
		if r := c.call(t.Context())[0]; !errors.Is(r.Err, errLate) {
			t.Error(r.Err)
		}
		if _, cause := c.links[0].Health(); cause != nil {
			t.Errorf("the node counts as down: %v", cause)
		}
	})
}
