package membership

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// Another client may format a node between its examination and FORMAT: that is the end of
// it if they mean the same list, and a refusal otherwise.
func TestFormatLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 3)
	s := openMini(t, m, 3)
	for _, since := range []int{sinceNow, sinceNever} {
		if err := s.nodes[0].format(t.Context(), since); err != nil {
			t.Fatal(err)
		}
		if at := s.nodes[0].current().vouches(); at.Unix() < 1e9 {
			t.Errorf("formatted again with %d, the node vouches from %v", since, at)
		}
	}
	err := openMini(t, m, 1).nodes[0].format(t.Context(), sinceNow)
	if !errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), "belongs to the list") {
		t.Errorf("formatting another list's node: %v", err)
	}
}

// The node looks for itself, whatever a client has checked before.
func TestLeaseAsLongAsTheGraceIsRefused(t *testing.T) {
	t.Parallel()
	s := openMini(t, redistest.MiniN(t, 1), 1)
	ttl := func(d time.Duration) {
		s.cfg.TTL = d
		s.nodes[0].headers[0].Store(nil)
	}
	ttl(s.cfg.Grace)
	if err := s.nodes[0].format(t.Context(), sinceNow); err == nil || !strings.Contains(err.Error(), "lock.ttl 20s must be below") {
		t.Errorf("formatting: %v", err)
	}
	ttl(s.cfg.Grace - time.Millisecond)
	if err := s.nodes[0].format(t.Context(), sinceNow); err != nil {
		t.Fatal(err)
	}
	script := NewScript("any", `return {'OK', nowtext}`)
	if r := s.nodes[0].Call(t.Context(), script, nil); r.Err != nil {
		t.Errorf("a lease below the grace: %v", r.Err)
	}
	ttl(s.cfg.Grace)
	if r := s.nodes[0].Call(t.Context(), script, nil); r.Err == nil || !strings.Contains(r.Err.Error(), "lock.ttl 20s must be below") {
		t.Errorf("calling: %v", r.Err)
	}
}

// Nodes that do not answer say nothing of the epoch, nor does one that was left behind.
func TestEpochIsKeptInAnOutage(t *testing.T) {
	t.Parallel()
	s := openMini(t, redistest.MiniN(t, 3), 3)
	told := view{node: s.nodes[0], record: record{listHash: s.hash, epoch: 2}}
	silent := view{node: s.nodes[0], reply: Reply{Err: errors.New("timeout")}}
	s.epoch.learn([]view{told, silent, silent}, 2)
	s.epoch.learn([]view{silent, silent, silent}, 2)
	behind := told
	behind.record.epoch = 1
	s.epoch.learn([]view{silent, behind, silent}, 2)
	if got := s.epoch.get(); got != 2 {
		t.Errorf("the epoch is %d, want 2", got)
	}
}

func TestOldServersAreRefused(t *testing.T) {
	t.Parallel()
	n := openMini(t, redistest.MiniN(t, 1), 1).nodes[0]
	for version, refused := range map[string]bool{
		"5.0.14": true, "6.0.20": true, "6.2.0": false, "7.0.15": false, "10.1": false, "": false, "dragonfly": false,
	} {
		err := view{node: n, info: client.Info{"redis_version": version, "run_id": "x"}, reply: Reply{Err: ErrBlank}}.judge()
		if errors.Is(err, locking.ErrRefused) != refused {
			t.Errorf("Redis %s: %v", version, err)
		}
	}
}

// openMini returns a Set of the first n embedded nodes.
func openMini(t *testing.T, m *redistest.Minis, n int) *Set {
	t.Helper()
	c := Config{Embedded: true, Dial: m.Dial, Timeout: 3 * time.Second}
	for _, u := range m.URLs()[:n] {
		c.Nodes = append(c.Nodes, NodeConfig{URL: u})
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A claim that is stored while Init is under way is not forgotten.
func TestInitSeesAClaimAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s := openMini(t, redistest.MiniN(t, 1), 1)
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	views := s.examine(t.Context(), 1)
	if r := s.nodes[0].Call(t.Context(), NewScript("serve", `serve() return {'OK', nowtext}`), nil); r.Err != nil {
		t.Fatal(r.Err)
	}
	if err := declareNew(t.Context(), views); !errors.Is(err, locking.ErrRefused) {
		t.Errorf("declared a node new that has served: %v", err)
	}
	if at, ok := s.QuorumVotesAt(); !ok || at.IsZero() {
		t.Errorf("it vouches at %v (known: %v)", at, ok)
	}
}
