package membership_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A node that restarted remembers since its first call after the restart, data
// or no data; the operator's word says otherwise.
func TestRestartMovesTheFloor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		durable bool
	}{{"by default", false}, {"durable", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			cfg := config([]string{server.URL()}, func(cfg *membership.Config) { cfg.Durable = c.durable })
			e := watch(&cfg)
			s := open(t, cfg)
			if err := s.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if r := call(t, s, echo); r.Int(1) != 20000 {
				t.Fatalf("floor of a node declared new: %d", r.Int(1))
			}
			server.Restart(true)
			r := call(t, s, echo)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			moved := r.Int(1) == r.NodeTime.UnixMilli()+20000
			if moved == c.durable {
				t.Errorf("at %d the floor is %d", r.NodeTime.UnixMilli(), r.Int(1))
			}
			if at, ok := s.QuorumVotesAt(); !ok || at.IsZero() != c.durable {
				t.Errorf("a quorum vouches at %v (known: %v)", at, ok)
			}
			if told := strings.Contains(e.String(), "restarted "+server.Addr()+": the server at "+server.Addr()+" was restarted"); told == c.durable {
				t.Errorf("events: %v", e)
			}
			if again := call(t, s, echo); again.Int(1) != r.Int(1) {
				t.Errorf("the floor moved again: %d, %d", r.Int(1), again.Int(1))
			}
		})
	}
}

// A since that lies in the future, because the clock was set back, counts as
// now; within the grace it stays.
func TestSinceInTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct{ back, floor time.Duration }{
		{19 * time.Second, 20 * time.Second},
		{20 * time.Second, 20 * time.Second},
		{20*time.Second + time.Millisecond, -time.Millisecond},
		{time.Hour, 20*time.Second - time.Hour},
	} {
		m := redistest.MiniN(t, 1)
		m.Node(0).SetTime(now)
		s := open(t, config(m.URLs(), embedded(m)))
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.Node(0).SetTime(now.Add(-c.back))
		want := now.Add(c.floor).UnixMilli()
		for range 2 {
			if r := call(t, s, echo); r.Int(1) != want {
				t.Errorf("clock set back by %v: floor %d, want %d (%v)", c.back, r.Int(1), want, r.Err)
			}
		}
	}
}

// A node that lost its memory while the cluster runs is formatted by the
// others' word, and abstains.
func TestRunFormatsNodesThatWentBlank(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	c := config(redistest.URLs(servers))
	e := watch(&c)
	s := open(t, c)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	servers[1].Restart(false)
	s.Call(t.Context(), echo, nil) // notices, by a broken connection or by BLANK
	e.await(t, "formatted "+servers[1].Addr())
	r := s.Nodes()[1].Call(t.Context(), echo, nil)
	if since := r.Int(1) - 20000; r.Err != nil || since < r.NodeTime.Add(-time.Minute).UnixMilli() {
		t.Errorf("the node that lost its memory vouches: %+v", r)
	}
	if at, ok := s.QuorumVotesAt(); !ok || !at.IsZero() {
		t.Errorf("the other two are a quorum, but it vouches at %v (known: %v)", at, ok)
	}
}

// Without a quorum that remembers, Run leaves blank nodes blank while a node
// that could hold something else is away.
func TestRunDoesNotGuess(t *testing.T) {
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
		m.Node(1).FlushAll()
		m.Node(2).FlushAll()
		time.Sleep(time.Hour)
		for i, r := range s.Call(t.Context(), echo, nil)[1:] {
			if !errors.Is(r.Err, membership.ErrBlank) {
				t.Errorf("node %d: %+v", i+2, r)
			}
		}
		if _, ok := s.QuorumVotesAt(); ok {
			t.Error("blank nodes count as vouching")
		}
		m.Start(0, true)
		time.Sleep(3 * time.Second)
		if down, other := nonNil(s.Call(t.Context(), echo, nil)); down+other != 0 {
			t.Error("the node is back, but the blank ones are not formatted")
		}
		if at, ok := s.QuorumVotesAt(); !ok || at.IsZero() {
			t.Errorf("two nodes lost their memory, but a quorum vouches at %v (known: %v)", at, ok)
		}
	})
}

// A restart is noticed, and its grace ends, without any calls of the nodes.
func TestRunAsksNodesThatNobodyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 1)
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
		time.Sleep(time.Hour)
		m.Node(0).HSet("{quorate}:node", "run_id", "former")
		time.Sleep(11 * time.Second)
		at, ok := s.QuorumVotesAt()
		if d := time.Until(at); !ok || d < 8*time.Second || d > 20*time.Second {
			t.Errorf("a quorum vouches in %v (known: %v)", d, ok)
		}
	})
}

// A node that comes back at an address is examined before it is used again.
func TestRunRefusesWhatCameBackAsSomethingElse(t *testing.T) {
	t.Parallel()
	a, b := redistest.Start(t), redistest.Start(t)
	replaced := proxytest.New(t, b.Addr())
	c := config([]string{a.URL(), "redis://" + replaced.Addr(), redistest.Start(t).URL()})
	e := watch(&c)
	s := open(t, c)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	replaced.Target(a.Addr()) // the second address now leads to the first server
	replaced.CutReplies("")
	s.Call(t.Context(), echo, nil)
	e.await(t, "down "+replaced.Addr())
	replaced.Pass()
	e.await(t, "down "+replaced.Addr())
	r := s.Call(t.Context(), echo, nil)[1]
	refused(t, r.Err, "same server", a.URL(), replaced.Addr())
	if !r.Unsent() {
		t.Error("a refused server was asked")
	}
	replaced.Target(b.Addr())
	replaced.Break()
	e.await(t, "up")
	if got := strings.Count(e.String(), "up "); got != 1 {
		t.Errorf("the refused server was used for a while: %v", e)
	}
}

// Run tells once that a node's clock has gone astray, and once that it is back.
func TestRunTellsWhoseClockStandsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		var told []string
		s := open(t, config(m.URLs(), embedded(m), func(c *membership.Config) {
			c.Observer.Skewed = func(node string, by time.Duration) {
				told = append(told, fmt.Sprint(node, " behind: ", by < 0))
			}
		}))
		defer s.Close()
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		defer func() { cancel(); <-done }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told %q of clocks that agree", told)
		}
		m.Node(2).SetTime(time.Now()) // its clock stops
		time.Sleep(10 * time.Minute)
		m.Node(2).SetTime(time.Time{})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		want := []string{s.Names()[2] + " behind: true", s.Names()[2] + " behind: false"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
