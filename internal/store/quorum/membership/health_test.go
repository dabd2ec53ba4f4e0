package membership_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// events collects an Observer's calls.
type events struct {
	mu   sync.Mutex
	list []string
	c    chan string
}

func watch(c *membership.Config) *events {
	e := &events{c: make(chan string, 100)}
	c.Observer = membership.Observer{
		Down:      func(node string, _ error) { e.add("down " + node) },
		Up:        func(node string) { e.add("up " + node) },
		Formatted: func(node string, _ time.Time) { e.add("formatted " + node) },
		Restarted: func(node, why string, _ time.Time) { e.add("restarted " + node + ": " + why) },
		Warn:      func(node, text string) { e.add("warn " + node + " " + text) },
	}
	return e
}

func (e *events) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
	e.c <- s
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.list, ", ")
}

// await waits for an event, as long as the test may take.
func (e *events) await(t *testing.T, want string) {
	t.Helper()
	timeout := time.NewTimer(30 * time.Second)
	defer timeout.Stop()
	for {
		select {
		case s := <-e.c:
			if strings.HasPrefix(s, want) {
				return
			}
		case <-timeout.C:
			t.Fatalf("no event %q; seen: %v", want, e)
		}
	}
}

// run runs the Set in the background until the test ends.
func run(t *testing.T, s *membership.Set) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

func nonNil(replies []membership.Reply) (down, other int) {
	for _, r := range replies {
		switch {
		case errors.Is(r.Err, client.ErrDown):
			down++
		case r.Err != nil:
			other++
		}
	}
	return down, other
}

// A frozen node costs one timeout; then it is skipped until it answers again.
func TestFrozenNodeCostsOneTimeout(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	c := config(redistest.URLs(servers))
	e := watch(&c)
	s := open(t, c)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	run(t, s)

	servers[1].Freeze()
	start := time.Now()
	replies := s.Call(t.Context(), echo, nil)
	if took := time.Since(start); took < s.Timeout() {
		t.Errorf("the frozen node was given up after %v", took)
	}
	if down, other := nonNil(replies); down != 0 || other != 1 || replies[1].Err == nil {
		t.Fatalf("first call: %+v", replies)
	}
	for range 100 {
		replies = s.Call(t.Context(), echo, nil)
		if down, other := nonNil(replies); down != 1 || other != 0 {
			t.Fatalf("later calls: %+v", replies)
		}
	}
	if !strings.Contains(replies[1].Err.Error(), "timeout") || !replies[1].Unsent() {
		t.Errorf("the error does not tell why the node is down: %v", replies[1].Err)
	}
	servers[1].Thaw()
	e.await(t, "up")
	if down, other := nonNil(s.Call(t.Context(), echo, nil)); down+other != 0 {
		t.Errorf("the node is back, but %d calls failed", down+other)
	}
}

// A call to a black hole, a lost reply and a reply cut in two all end in an
// error that says nothing was heard, at the latest at the timeout.
func TestSpoiledConnectionsAreErrors(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*proxytest.Proxy){
		"black hole": (*proxytest.Proxy).BlackHole,
		"drop":       func(p *proxytest.Proxy) { p.DropReplies("evalsha") },
		"cut":        func(p *proxytest.Proxy) { p.CutReplies("evalsha") },
		"chop":       func(p *proxytest.Proxy) { p.ChopReplies("evalsha") },
		"late":       func(p *proxytest.Proxy) { p.Delay(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := proxytest.New(t, server.Addr())
			s := open(t, config([]string{server.URLVia(proxy.Addr())}))
			if err := s.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if r := call(t, s, put, "warm"); r.Err != nil {
				t.Fatal(r.Err)
			}
			spoil(proxy)
			if r := call(t, s, put, name); r.Err == nil || r.Unsent() || r.Code != "" {
				t.Fatalf("got an answer through a spoiled connection: %+v", r)
			}
			stored := server.Client().Get(t.Context(), "{quorate}:x").Val()
			if ran := stored == name; ran != (name != "black hole") {
				t.Errorf("the node stored %q", stored)
			}
		})
	}
}

// Without Run, one call every few seconds is let through as the probe.
func TestNodeIsRetriedWithoutRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		s := open(t, config(m.URLs(), embedded(m)))
		defer s.Close()
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		m.Stop(0)
		down, other := nonNil(s.Call(t.Context(), echo, nil))
		if down != 0 || other != 1 {
			t.Fatalf("first call: %d down, %d failed", down, other)
		}
		m.Start(0, true)
		if down, _ = nonNil(s.Call(t.Context(), echo, nil)); down != 1 {
			t.Error("the node was asked again at once")
		}
		time.Sleep(2 * time.Second)
		if down, other = nonNil(s.Call(t.Context(), echo, nil)); down+other != 0 {
			t.Error("the node was not asked again after the pause")
		}
	})
}

// While Run is there, no call pays for a node that stays down, however long.
func TestCallsNeverProbeWhileRunDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		c := config(m.URLs(), embedded(m))
		e := watch(&c)
		s := open(t, c)
		defer s.Close()
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		defer func() { cancel(); <-done }()
		m.Stop(0)
		s.Call(t.Context(), echo, nil)
		for range 60 {
			time.Sleep(time.Minute)
			if down, other := nonNil(s.Call(t.Context(), echo, nil)); down != 1 || other != 0 {
				t.Fatalf("%d down, %d failed", down, other)
			}
		}
		m.Start(0, true)
		time.Sleep(2 * time.Second)
		if down, other := nonNil(s.Call(t.Context(), echo, nil)); down+other != 0 {
			t.Error("two seconds after its return the node is still not asked")
		}
		if got := e.String(); got != "down node-1:6379, up node-1:6379" {
			t.Errorf("events: %s", got)
		}
	})
}

// A node that was down for a moment is back soon, however long others have been
// down for.
func TestShortOutageBesideALongOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		s := open(t, config(m.URLs(), embedded(m)))
		defer s.Close()
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		defer func() { cancel(); <-done }()
		m.Stop(0)
		s.Call(t.Context(), echo, nil)
		time.Sleep(time.Minute)
		m.Stop(1)
		s.Call(t.Context(), echo, nil)
		synctest.Wait() // probed at once, without success
		m.Start(1, true)
		time.Sleep(500 * time.Millisecond)
		if down, other := nonNil(s.Call(t.Context(), echo, nil)); down != 1 || other != 0 {
			t.Errorf("%d down, %d failed", down, other)
		}
	})
}

// A caller that gives up says nothing about the node.
func TestCallersCancellationDoesNotPutNodesDown(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("drained"))
		r := s.Call(ctx, put, []string{s.Key("x")}, "v")[0]
		if r.Err == nil || !errors.Is(r.Err, context.Canceled) && !strings.Contains(r.Err.Error(), "drained") {
			t.Errorf("call with an ended context: %v", r.Err)
		}
		if r := call(t, s, echo); r.Err != nil {
			t.Errorf("next call: %v", r.Err)
		}
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	s := open(t, config(redistest.URLs(servers)))
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for range 20 {
				s.Call(t.Context(), echo, nil)
				s.NodeStates()
				s.QuorumVotesAt()
			}
		})
	}
	servers[2].Kill()
	wg.Wait()
	if down, other := nonNil(s.Call(t.Context(), echo, nil)); down != 1 || other != 0 {
		t.Errorf("%d down, %d failed", down, other)
	}
}

// A caller's earlier deadline reaches the socket, and is not the node's fault.
func TestCallersDeadlineIsKept(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := proxytest.New(t, server.Addr())
	s := open(t, config([]string{server.URLVia(proxy.Addr())}))
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	proxy.DropReplies("")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	r := s.Nodes()[0].Call(ctx, echo, nil)
	if took := time.Since(start); r.Err == nil || took >= s.Timeout() {
		t.Errorf("after %v: %+v", took, r)
	}
	proxy.Pass()
	if r := call(t, s, echo); r.Err != nil {
		t.Errorf("next call: %v", r.Err)
	}
}
