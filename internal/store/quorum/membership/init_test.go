package membership_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

var serve = membership.NewScript("serve", `serve() return {'OK', nowtext}`)

// Init and Init with recovery on five nodes: o ours, never served; s ours, served; b blank;
// d down.
func TestInit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes     string
		recovery  bool
		err       error
		vouching  int // nodes that vouch at once
		abstained int // nodes that wait for the grace
	}{
		{"bbbbb", false, nil, 5, 0},
		{"ooobb", false, nil, 5, 0},
		{"oobbb", false, nil, 5, 0},
		{"ooood", false, nil, 4, 0},
		{"bbbbd", false, locking.ErrNoQuorum, 0, 0},
		{"sobbb", false, locking.ErrRefused, 0, 2},
		{"ddddd", false, locking.ErrNoQuorum, 0, 0},
		{"bbbbd", true, nil, 0, 4},
		{"sobbd", true, nil, 0, 4},
		{"bbbdd", true, nil, 0, 3},
		{"bbddd", true, locking.ErrNoQuorum, 0, 0},
	} {
		t.Run(c.nodes+map[bool]string{true: " with recovery"}[c.recovery], func(t *testing.T) {
			t.Parallel()
			m := fiveNodes(t, strings.ReplaceAll(c.nodes, "s", "o"))
			s := open(t, config(m.URLs(), embedded(m)))
			if c.nodes[0] == 's' {
				if r := s.Nodes()[0].Call(t.Context(), serve, nil); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			if err := s.Init(t.Context(), c.recovery); !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			vouching, abstained := 0, 0
			for _, st := range s.Inspect(t.Context()) {
				switch {
				case st.Vouches:
					vouching++
				case len(st.Members) > 0:
					abstained++
				}
			}
			if vouching != c.vouching || abstained != c.abstained {
				t.Errorf("%d vouch and %d abstain, want %d and %d", vouching, abstained, c.vouching, c.abstained)
			}
		})
	}
}

func TestInspectTellsWhatANodeIs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Conf("appendonly yes"), redistest.ACL("quorate", "canary", membership.ACLRules("quorate")))
	gone := redistest.Start(t)
	blank := redistest.Start(t)
	s := open(t, config([]string{server.URL(), gone.URL(), blank.URL()}))
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone.Kill()
	blank.Client().FlushAll(t.Context())
	list := s.Inspect(t.Context())

	st := list[0]
	if st.Name != server.Addr() || st.URL != "redis://quorate:***@"+server.Addr() || !st.Reachable || st.Err != nil {
		t.Errorf("got %+v", st)
	}
	if st.Role != "master" || st.Version == "" || len(st.RunID) != 40 || st.Persistence != "aof" || st.MaxmemoryPolicy != "noeviction" {
		t.Errorf("the server: %+v", st)
	}
	if st.Err != nil || len(st.Members) != 3 || st.Epoch != 0 || st.Blank || st.Embedded {
		t.Errorf("the membership: %+v", st)
	}
	if wait := st.VouchesAt.Sub(st.Since) - s.Grace(); st.Vouches || wait.Abs() > st.RTT+time.Millisecond {
		t.Errorf("vouches %v at %v, since %v", st.Vouches, st.VouchesAt, st.Since)
	}
	if st.RTT <= 0 || st.Offset.Abs() > st.RTT+time.Millisecond {
		t.Errorf("rtt %v, offset %v", st.RTT, st.Offset)
	}
	if st = list[1]; st.Reachable || st.Err == nil || st.Name != gone.Addr() || !st.VouchesAt.IsZero() {
		t.Errorf("a dead node: %+v", st)
	}
	if st = list[2]; !st.Reachable || !st.Blank || !errors.Is(st.Err, membership.ErrBlank) || st.Version == "" {
		t.Errorf("a blank node: %+v", st)
	}
}

func TestOffsetsAreMeasured(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 3)
	m.Node(1).SetTime(time.Now().Add(time.Hour))
	m.Node(2).SetTime(time.Now().Add(-time.Hour))
	s := open(t, config(m.URLs(), embedded(m)))
	if _, known := s.ClockOffset(); known {
		t.Error("offsets are known before the first call")
	}
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{0, time.Hour, -time.Hour} {
		if got := s.NodeStates()[i]; got.RTT == 0 || got.Latest < got.RTT || (got.Offset-want).Abs() > time.Minute {
			t.Errorf("node %d: offset %v, want about %v", i+1, got, want)
		}
	}
	m = redistest.MiniN(t, 1)
	m.Node(0).SetTime(time.Now().Add(time.Hour))
	s = open(t, config(m.URLs(), embedded(m)))
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, ok := s.QuorumVotesAt(); !ok || time.Until(at) > time.Minute || at.IsZero() {
		t.Errorf("not by the local clock: a quorum vouches at %v (known: %v)", at, ok)
	}
}
