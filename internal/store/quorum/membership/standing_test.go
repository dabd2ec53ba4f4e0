package membership_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// What becomes of each call at each node is told, of calls that share a request, too,
// and of nodes that are not even asked.
func TestRepliesAreTold(t *testing.T) {
	t.Parallel()
	callAll := func(s *membership.Set) { s.Call(context.Background(), echo, nil) }
	for _, callAll := range []func(*membership.Set){callAll, startAll} {
		synctest.Test(t, func(t *testing.T) {
			m := redistest.MiniN(t, 3)
			defer m.Close()
			c := config(m.URLs(), embedded(m))
			var mu sync.Mutex
			var told []string
			c.Observer.Replied = func(rule string, r membership.Reply) {
				mu.Lock()
				defer mu.Unlock()
				if rule == "echo" {
					told = append(told, fmt.Sprint(r.Node[:6], " ", r.Result()))
				}
			}
			s := open(t, c)
			defer s.Close()
			calls := func(want string) {
				t.Helper()
				told = nil
				callAll(s)
				slices.Sort(told)
				if got := strings.Join(told, ", "); got != want {
					t.Errorf("told %s, want %s", got, want)
				}
			}
			calls("node-1 blank, node-2 blank, node-3 blank")
			if err := s.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			calls("node-1 echo, node-2 echo, node-3 echo")
			m.Stop(1)
			calls("node-1 echo, node-2 silent, node-3 echo")
			calls("node-1 echo, node-2 down, node-3 echo")
			s.Close()
			calls("node-1 unsent, node-2 down, node-3 unsent")
		})
	}
}

// startAll calls all nodes by a Fan.
func startAll(s *membership.Set) {
	fan := &client.Fan{Quorum: s.Quorum()}
	var wg sync.WaitGroup
	for _, n := range s.Nodes() {
		wg.Add(1)
		n.Start(context.Background(), fan, echo, client.Keys{}, nil, func(membership.Reply) { wg.Done() })
	}
	wg.Wait()
}

// Node states follow the nodes' answers, without calls.
func TestStandings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		c := config(m.URLs(), embedded(m))
		s := open(t, c)
		defer s.Close()
		votes := func(when, want string) {
			t.Helper()
			var got []string
			for _, n := range s.NodeStates() {
				state := "gone"
				switch {
				case n.Votes && n.Up:
					state = "votes"
				case n.Up:
					state = "up"
				}
				got = append(got, state)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s: %v, want %s", when, got, want)
			}
		}
		votes("before the first call", "[gone gone gone]")
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		votes("within the grace", "[up up up]")
		time.Sleep(membership.DefaultGrace + time.Millisecond)
		votes("after the grace", "[votes votes votes]")
		m.Stop(0)
		votes("before anybody noticed", "[votes votes votes]")
		s.Call(context.Background(), echo, nil)
		votes("after a call", "[gone votes votes]")
	})
}

// Run remembers the last hour of each node, and nothing of the time in which it did not run.
func TestLastHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		s := open(t, config(m.URLs(), embedded(m)))
		defer s.Close()
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(membership.DefaultGrace + time.Millisecond)
		for _, minute := range []func(){func() {}, nil, func() { m.Stop(0) }} {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			if minute != nil {
				minute()
				_ = s.Run(ctx)
			}
			cancel()
		}
		var got []string
		for _, minute := range s.LastHour(time.Now()) {
			for _, n := range minute.Nodes[:2] {
				got = append(got, fmt.Sprintf("%d %s %v %v", minute.At.Minute(), n.Node, n.Up, n.Votes))
			}
		}
		if want := "[1 node-1:6379 true true 1 node-2:6379 true true 3 node-1:6379 false false 3 node-2:6379 true true]"; fmt.Sprint(got) != want {
			t.Errorf("the last hour was %v, want %s", got, want)
		}
	})
}
