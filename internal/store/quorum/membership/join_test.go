package membership_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// refused checks that err is a refusal that says all of want.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	if !errors.Is(err, locking.ErrRefused) || errors.Is(err, locking.ErrNoQuorum) {
		t.Fatalf("not a refusal: %v", err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the refusal does not say %q: %v", w, err)
		}
	}
}

func TestJoinRefusesOneServerBehindTwoURLs(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 2)
	alias := "redis://localhost:" + servers[0].Port()
	err := open(t, config([]string{servers[0].URL(), servers[1].URL(), alias})).Join(t.Context())
	refused(t, err, servers[0].URL(), alias, "same server")
	if strings.Contains(err.Error(), servers[1].URL()) {
		t.Errorf("blames a node that is alone: %v", err)
	}
	for _, s := range servers {
		if n := s.Client().DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("a refused list left %d keys", n)
		}
	}
}

func TestJoinRefusesAReplicaOfAnotherNode(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.Conf("replicaof 127.0.0.1 "+master.Port()))
	other := redistest.Start(t)
	err := open(t, config([]string{master.URL(), other.URL(), replica.URL()})).Join(t.Context())
	refused(t, err, replica.URL()+" is a read-only replica of "+master.URL(), "listed too")
}

func TestJoinRefusesAReplicaOfAStranger(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.Start(t, redistest.Conf("replicaof 127.0.0.1 "+master.Port()))
	err := open(t, config([]string{replica.URL()})).Join(t.Context())
	refused(t, err, replica.URL()+" is a read-only replica of "+master.Addr(), "list independent masters")
	one := config([]string{replica.URL()}, func(c *membership.Config) { c.Nodes[0].Name = membership.SingleName })
	refused(t, open(t, one).Join(t.Context()), "its address must lead to the master")
}

func TestJoinRefusesClusterMode(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Conf("cluster-enabled yes"))
	refused(t, open(t, config([]string{s.URL()})).Join(t.Context()), s.URL(), "cluster mode")
}

func TestJoinRefusesASentinel(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Sentinel())
	refused(t, open(t, config([]string{s.URL()})).Join(t.Context()), s.URL()+" is a Sentinel", "redis.sentinel.addresses")
}

// A foreign key where a node keeps its record is no record.
func TestForeignKeyInPlaceOfTheRecordIsRefused(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		b.do(t, "DEL", "{quorate}:node")
		b.do(t, "SET", "{quorate}:node", "something else")
		refused(t, s.Join(t.Context()), "the key {quorate}:node there is not Quorate's", "DEL {quorate}:node")
		if st := s.Inspect(t.Context())[0]; !errors.Is(st.Err, locking.ErrRefused) || st.Vouches {
			t.Errorf("the node is listed with %v, vouches %v", st.Err, st.Vouches)
		}
		if r := call(t, s, echo); r.Err == nil || !strings.Contains(r.Err.Error(), "another program") {
			t.Errorf("a call says %v", r.Err)
		}
	})
}

// Calls that fail over such a key make the next look tell, however soon it is.
func TestForeignKeyIsNoticedWhileCallsGoOn(t *testing.T) {
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
		over := make(chan error)
		go func() { over <- s.Run(ctx) }()
		call(t, s, echo)
		m.Node(0).Del("{quorate}:node")
		if err := m.Node(0).Set("{quorate}:node", "something else"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			call(t, s, echo)
			time.Sleep(time.Second)
		}
		if st := s.NodeStates()[0]; st.Votes {
			t.Error("the node is said to vote")
		}
		m.Node(0).Del("{quorate}:node")
		cancel()
		<-over
	})
}

func TestJoinRefusesEviction(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Conf("maxmemory-policy allkeys-lru"))
	refused(t, open(t, config([]string{s.URL()})).Join(t.Context()), s.URL(), "maxmemory-policy allkeys-lru", "run CONFIG SET maxmemory-policy noeviction there")
}

func TestJoinWarnsOfVolatileEviction(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Conf("maxmemory-policy volatile-lru"))
	c := config([]string{s.URL()})
	e := watch(&c)
	if err := open(t, c).Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.String(), "warn "+s.Addr()+" maxmemory-policy volatile-lru") {
		t.Errorf("events: %v", e)
	}
}

// Not even a client that allows embedded nodes takes a server for one that only
// denies INFO.
func TestNodeThatDeniesInfoIsRefused(t *testing.T) {
	t.Parallel()
	rules := strings.Replace(membership.ACLRules("quorate"), "+info ", "", 1)
	s := redistest.Start(t, redistest.ACL("quorate", "canary", rules))
	for _, allow := range []bool{false, true} {
		c := config([]string{s.URL()}, func(c *membership.Config) { c.Embedded = allow })
		refused(t, open(t, c).Join(t.Context()), s.Addr(), "+info")
		refused(t, open(t, c).Init(t.Context(), false), s.Addr(), "+info")
	}
	// Once formatted by a user who may, it still refuses one who may not.
	admin := redistest.Start(t, redistest.ACL("quorate", "canary", rules))
	c := config([]string{"redis://" + admin.Addr()})
	if err := open(t, c).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	admin.Client().HSet(t.Context(), "{quorate}:node", "embedded", "1")
	c = config([]string{admin.URL()}, func(c *membership.Config) { c.Embedded = true })
	refused(t, call(t, open(t, c), put, "v").Err, "+info")
}

func TestJoinRefusesEmbeddedNodesUnlessAllowed(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 1)
	c := config(m.URLs(), embedded(m))
	c.Embedded = false
	refused(t, open(t, c).Join(t.Context()), "run_id")
	if err := open(t, config(m.URLs(), embedded(m))).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	refused(t, call(t, open(t, c), put, "v").Err, "run_id")
	// Nor does the request's word suffice where the node was not formatted so.
	m.Node(0).HSet("{quorate}:node", "embedded", "0")
	refused(t, call(t, open(t, config(m.URLs(), embedded(m))), put, "v").Err, "run_id")
}

// Two replicas with different lists: the second is refused, with the nodes' list.
func TestJoinRefusesAnotherList(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 5)
	if err := open(t, config(m.URLs()[:3], embedded(m))).Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := open(t, config(m.URLs(), embedded(m)))
	refused(t, s.Join(t.Context()), "node-1:6379: the node belongs to the list [node-1:6379 node-2:6379 node-3:6379]",
		"this replica lists [node-1:6379 node-2:6379 node-3:6379 node-4:6379 node-5:6379]")
	refused(t, s.Init(t.Context(), false), "belongs to the list")
	refused(t, s.Init(t.Context(), true), "belongs to the list")
	for _, st := range s.Inspect(t.Context())[3:] {
		if !st.Blank {
			t.Errorf("%s was formatted for a refused list", st.Name)
		}
	}
}

func TestJoinRefusesSwappedURLsAndOtherGrace(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 3)
	named := func(a, b, c string) func(*membership.Config) {
		return func(cfg *membership.Config) { cfg.Nodes[0].Name, cfg.Nodes[1].Name, cfg.Nodes[2].Name = a, b, c }
	}
	if err := open(t, config(m.URLs(), embedded(m), named("a", "b", "c"))).Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(t, open(t, config(m.URLs(), embedded(m), named("b", "a", "c"))).Join(t.Context()),
		"the node knows itself as a, this replica lists it as b", "the node knows itself as b, this replica lists it as a")
	longer := func(c *membership.Config) { c.Grace = time.Minute }
	refused(t, open(t, config(m.URLs(), embedded(m), named("a", "b", "c"), longer)).Join(t.Context()),
		"holds restart_grace 20000ms, this replica 1m0s")
}

// When blank nodes may be formatted (M1), by the state of five nodes: o is ours, b blank, d
// down.
func TestBlankNodesAreFormattedOnlyWhenSafe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes string
		joins bool
		blank int // left blank
	}{
		{"bbbbb", true, 0},
		{"obbbb", true, 0},
		{"ooobb", true, 0},
		{"ooobd", true, 0},
		{"ooodd", true, 0},
		{"bbbbd", false, 4},
		{"obbbd", false, 3},
		{"oobbd", false, 2},
		{"ooddd", false, 0},
		{"ddddd", false, 0},
	} {
		t.Run(c.nodes, func(t *testing.T) {
			t.Parallel()
			m := fiveNodes(t, c.nodes)
			s := open(t, config(m.URLs(), embedded(m)))
			err := s.Join(t.Context())
			if c.joins != (err == nil) {
				t.Fatalf("Join: %v", err)
			}
			if err != nil && (!errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrRefused)) {
				t.Errorf("not to be tried again: %v", err)
			}
			if left := blankNodes(t, s); left != c.blank {
				t.Errorf("%d nodes are blank, want %d", left, c.blank)
			}
			if c.blank > 0 && !strings.Contains(err.Error(), "store init --recover") {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

// fiveNodes makes five embedded nodes in the states that the letters name.
func fiveNodes(t *testing.T, states string) *redistest.Minis {
	t.Helper()
	m := redistest.MiniN(t, 5)
	if err := open(t, config(m.URLs(), embedded(m))).Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, state := range states {
		switch state {
		case 'b':
			m.Node(i).FlushAll()
		case 'd':
			m.Stop(i)
		}
	}
	return m
}

func blankNodes(t *testing.T, s *membership.Set) int {
	t.Helper()
	n := 0
	for _, st := range s.Inspect(t.Context()) {
		if st.Blank {
			n++
		}
	}
	return n
}

func TestJoinTellsWhatIsWrongWithEachNode(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	locked := redistest.Start(t, redistest.Conf("requirepass canary"))
	wrong := redistest.Start(t, redistest.ACL("quorate", "canary", "~* +@all"))
	c := config([]string{servers[0].URL(), locked.URL(), "redis://quorate:other@" + wrong.Addr(), servers[1].URL(), servers[2].URL()})
	servers[1].Kill()
	err := open(t, c).Join(t.Context())
	if !errors.Is(err, locking.ErrNoQuorum) || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	for _, want := range []string{
		locked.Addr() + ": it needs a password",
		wrong.Addr() + ": it rejects the user or password",
		servers[1].Addr() + ": connect: connection refused",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// The first start of new nodes waits for one grace, and says until when.
func TestFirstStartAbstainsForOneGrace(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		c := b.config
		e := watch(&c)
		s := open(t, c)
		if _, ok := s.QuorumVotesAt(); ok {
			t.Error("a Set that has heard nothing knows who vouches")
		}
		before := time.Now()
		if err := s.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := time.Now()
		at, ok := s.QuorumVotesAt()
		slack := after.Sub(before) + time.Millisecond // of the measured offset
		if !ok || at.Before(before.Add(s.Grace()-slack)) || at.After(after.Add(s.Grace()+slack)) {
			t.Errorf("at %v a quorum vouches at %v (known: %v), want one grace later", after, at, ok)
		}
		if want := fmt.Sprintf("formatted %s", s.Names()[0]); e.String() != want {
			t.Errorf("events %s, want %s", e, want)
		}
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if at, ok := s.QuorumVotesAt(); !ok || !at.IsZero() {
			t.Errorf("after Init a quorum vouches at %v (known: %v)", at, ok)
		}
	})
}
