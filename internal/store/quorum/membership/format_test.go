package membership_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// oldData are commands that write the data of earlier formats.
var oldData = []struct {
	name    string
	command []string
}{
	{"keys without a hash tag", []string{"HSET", "quorate:node", "format", "1", "name", "a:6379"}},
	{"a record of single fields", []string{"HSET", "{quorate}:node", "format", "1", "name", "a:6379", "run_id", "x", "since", "0"}},
	{"a record of version 1", []string{"HSET", "{quorate}:node", "member", "a:6379 hash 0 20000 1", "names", "a:6379", "run_id", "x", "since", "0"}},
}

// A node with the data of an older format is not blank: all commands refuse it, with
// advice, and its data stays.
func TestOlderFormatsAreRefused(t *testing.T) {
	t.Parallel()
	want := []string{"holds data of format 1", "delete the keys quorate:* and {quorate}:* on every node"}
	onEvery(t, func(t *testing.T, b backend) {
		for _, old := range oldData {
			b.do(t, "FLUSHALL")
			b.do(t, old.command...)
			before := b.do(t, "HGETALL", old.command[1])
			s := open(t, b.config)
			refused(t, s.Join(t.Context()), want...)
			refused(t, s.Init(t.Context(), false), want...)
			refused(t, s.Init(t.Context(), true), want...)
			if st := s.Inspect(t.Context())[0]; !errors.Is(st.Err, locking.ErrRefused) || st.Blank || !st.Reachable || st.Vouches {
				t.Errorf("%s: the node is listed as %+v", old.name, st)
			}
			n := checked(t, s).Nodes[0]
			if len(n.Findings) == 0 || n.Findings[0].Level != health.Fix || !strings.HasPrefix(n.Findings[0].Text, "the node holds data of format 1") {
				t.Errorf("%s: findings %+v", old.name, n.Findings)
			}
			if keys, after := b.do(t, "KEYS", "*"), b.do(t, "HGETALL", old.command[1]); keys != "["+old.command[1]+"]" || after != before {
				t.Errorf("%s: the node has %s, and %s", old.name, keys, after)
			}
			b.do(t, "DEL", old.command[1])
			if err := open(t, b.config).Join(t.Context()); err != nil {
				t.Errorf("%s: cleared: %v", old.name, err)
			}
		}
	})
}

// FORMAT and OPEN see for themselves that the node has data of another format: it may
// have come after the look.
func TestOlderRecordIsNotOverwritten(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, b backend) {
		for _, old := range oldData[1:] {
			for rule, args := range map[string][]any{"format": {1, "names", 0}, "open": {"names", 0, "hash"}} {
				b.do(t, "FLUSHALL")
				b.do(t, old.command...)
				before := b.do(t, "HGETALL", old.command[1])
				refused(t, open(t, b.config).Call(t.Context(), membership.Rule(rule), nil, args...)[0].Err, "holds data of format 1")
				if after := b.do(t, "HGETALL", old.command[1]); after != before {
					t.Errorf("%s over %s: %s", rule, old.name, after)
				}
			}
		}
	})
}

// A user that may not read the key of the older format cannot know: then the node
// is left alone.
func TestNodeIsNotFormattedUnlooked(t *testing.T) {
	t.Parallel()
	rules := strings.Replace(membership.ACLRules("quorate"), "~quorate:node ", "", 1)
	server := redistest.Start(t, redistest.ACL("quorate", "canary", rules))
	s := open(t, config([]string{server.URL()}))
	err := s.Join(t.Context())
	if !errors.Is(err, locking.ErrNoQuorum) || !strings.Contains(err.Error(), "quorate:node") || !strings.Contains(err.Error(), "lacks a permission") {
		t.Errorf("Join: %v", err)
	}
	if st := s.Inspect(t.Context())[0]; st.Err == nil || st.Blank {
		t.Errorf("listed as %+v", st)
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// A node that comes back with old data while the others run is refused until it is
// cleared, and then taken in.
func TestRunRefusesOlderFormats(t *testing.T) {
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
		over := make(chan error)
		go func() { over <- s.Run(ctx) }()
		defer func() { cancel(); <-over }()
		m.Node(1).FlushAll()
		m.Node(1).HSet("quorate:node", "format", "1")
		for range 10 {
			call(t, s, echo)
			time.Sleep(time.Second)
		}
		refused(t, s.Call(t.Context(), echo, nil)[1].Err, "holds data of format 1")
		refused(t, errors.Join(s.Unusable()...), "node-2:6379: the node holds data of format 1")
		if told := strings.Count(e.String(), "down node-2:6379"); told != 1 {
			t.Errorf("told %d times: %v", told, e)
		}
		m.Node(1).Del("quorate:node")
		time.Sleep(10 * time.Second)
		if r := s.Call(t.Context(), echo, nil)[1]; r.Err != nil {
			t.Errorf("cleared: %v", r.Err)
		}
	})
}
