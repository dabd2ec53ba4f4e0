package membership_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// Callers who queue in this process for too long learn nothing of the node: it
// answers whom it is asked by, so it must not be taken for down.
func TestQueueingIsNotTheNodesFault(t *testing.T) {
	t.Parallel()
	proxy := proxytest.New(t, redistest.Start(t).Addr())
	c := config([]string{"redis://" + proxy.Addr()})
	c.Timeout, c.TTL, c.Grace = 8*time.Second, 40*time.Second, 50*time.Second // a busy machine may stand still for a while
	var told atomic.Int64
	c.Observer = membership.Observer{
		Down: func(string, error) { told.Add(1) },
		Up:   func(string) { told.Add(1) },
	}
	s := open(t, c)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if r := s.Call(t.Context(), echo, nil)[0]; r.Err != nil { // it knows the script now
		t.Fatal(r.Err)
	}
	proxy.Delay(s.Timeout() / 15)
	var queued atomic.Int64
	var wg sync.WaitGroup
	for range 1500 { // more than the pool can serve in a timeout
		wg.Go(func() {
			switch r := s.Call(t.Context(), echo, nil)[0]; {
			case r.Err == nil:
			case !strings.Contains(r.Err.Error(), redis.ErrPoolTimeout.Error()):
				t.Errorf("the node was asked, but: %v", r.Err)
			case !r.Unsent():
				t.Errorf("%v: counts as sent", r.Err)
			default:
				queued.Add(1)
			}
		})
	}
	wg.Wait()
	if queued.Load() == 0 {
		t.Error("nobody queued for too long: the test shows nothing")
	}
	if n := told.Load(); n > 0 {
		t.Errorf("the node went down or up %d times", n)
	}
	if r := s.Call(t.Context(), echo, nil)[0]; r.Err != nil {
		t.Errorf("next call: %v", r.Err)
	}
}
