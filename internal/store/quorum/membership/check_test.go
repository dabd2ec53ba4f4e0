package membership_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// found returns the node's findings on a topic, "level: text".
func found(c health.Node, topic string) string {
	var all []string
	for _, f := range c.Findings {
		if f.Topic == topic {
			all = append(all, f.Level.String()+": "+f.Text)
		}
	}
	return strings.Join(all, "; ")
}

// checked returns a checkup with advice.
func checked(t *testing.T, s *membership.Set) health.Checkup {
	t.Helper()
	c := s.Check(t.Context())
	view.Advise(&c, s.OneStore())
	return c
}

// The risk of a server's settings is reported, with advice.
func TestCheckJudgesSettings(t *testing.T) {
	t.Parallel()
	durable := func(c *membership.Config) { c.Durable = true }
	alone := func(c *membership.Config) { c.Nodes[0].Name = membership.SingleName }
	for _, c := range []struct {
		name        string
		options     []redistest.Option
		change      func(*membership.Config)
		topic, want string // "" for no finding
	}{
		{"keeps nothing", nil, nil, "persistence", "mend: a crash loses all it holds"},
		{"keeps nothing, alone", nil, alone, "persistence", "it empties its replicas, too; set appendonly yes. Restarted, it abstains"},
		{"every second", conf("appendonly yes"), nil, "persistence", "note: a crash loses its last second (appendfsync everysec). Restarted, it abstains for the restart_grace of 20s"},
		{"now and then", conf("appendonly yes", "appendfsync no"), nil, "persistence", "note: a crash loses what the system had not written"},
		{"always", conf("appendonly yes", "appendfsync always"), nil, "persistence", ""},
		{"CONFIG denied", []redistest.Option{
			redistest.Conf("appendonly yes"), redistest.ACL("quorate", "secret", membership.ACLRules("quorate")),
		}, nil, "persistence", "note: a crash loses its last second unless appendfsync is always, which cannot be read here"},
		{"durable", conf("appendonly yes", "appendfsync always"), durable, "persistence", ""},
		{"durable by word only", conf("appendonly yes"), durable, "persistence", "mend: redis.durable says that a restart loses nothing, but a crash loses its last second"},
		{"durable without anything", nil, durable, "persistence", "mend: redis.durable says that a restart loses nothing, but a crash loses all it holds"},
		{"evicts", conf("maxmemory-policy volatile-ttl"), nil, "eviction", "mend: maxmemory-policy volatile-ttl may evict leases (tokens and claims stay): run CONFIG SET maxmemory-policy noeviction there"},
		{"evicts claims", conf("maxmemory-policy allkeys-lru"), nil, "state", "has maxmemory-policy allkeys-lru, which would evict claims: run CONFIG SET maxmemory-policy noeviction there"},
		{"keeps all", nil, nil, "eviction", ""},
		{"nearly full", nil, nil, "memory", "% of its maxmemory; at 100% it refuses every claim (OOM): raise maxmemory"},
		{"room enough", conf("maxmemory 2gb"), nil, "memory", ""},
		{"near", nil, nil, "latency", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, c.options...)
			cfg := config([]string{server.URL()})
			if c.change != nil {
				c.change(&cfg)
			}
			s := open(t, cfg)
			_ = s.Init(t.Context(), false) // one of the servers is refused
			if c.name == "nearly full" {
				fill(t, server)
			}
			got := found(checked(t, s).Nodes[0], c.topic)
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%s: got %q, want %q", c.topic, got, c.want)
			}
		})
	}
}

func conf(lines ...string) []redistest.Option { return []redistest.Option{redistest.Conf(lines...)} }

// fill has the server use nearly all of its memory, by limiting that.
func fill(t *testing.T, s *redistest.Server) {
	t.Helper()
	text := s.Client().Info(t.Context(), "memory").Val()
	_, rest, _ := strings.Cut(text, "used_memory:")
	digits, _, _ := strings.Cut(rest, "\r")
	used, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", strconv.Itoa(used*11/10)).Err(); err != nil {
		t.Fatal(err)
	}
}

// Which node may be restarted: the one that has vouched longest while a quorum
// of the others vouches, else none before enough do.
func TestCheckTellsWhichNodeMayBeRestarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 3)
		defer m.Close()
		s := open(t, config(m.URLs(), embedded(m)))
		defer s.Close()
		check := func(when string, level health.Level, next string, wait time.Duration) {
			t.Helper()
			c := checked(t, s)
			if got := time.Until(c.NextAt).Round(time.Millisecond); c.Next != next || c.NextAt.IsZero() != (wait == 0) || wait != 0 && got != wait {
				t.Errorf("%s: next %q in %v, want %q in %v", when, c.Next, got, next, wait)
			}
			worst := health.Node{Findings: c.Local}.Level()
			for _, n := range c.Nodes {
				worst = max(worst, n.Level())
			}
			if worst != level {
				t.Errorf("%s: level %v, want %v: %+v", when, worst, level, c)
			}
			for _, n := range c.Nodes {
				if n.MayRestart && next == "" && n.Vouches {
					t.Errorf("%s: %s may be restarted", when, n.Name)
				}
			}
		}
		check("blank", health.Fix, "", 0)
		if err := s.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		restart := func(i int) { m.Node(i).HSet("{quorate}:node", "run_id", "former") }
		restart(0)
		check("one restarted", health.Wait, "", 20*time.Second)
		time.Sleep(15 * time.Second)
		restart(1)
		check("another restarted", health.Wait, "", 20*time.Second)
		time.Sleep(time.Minute)
		check("all vouch again", health.Note, s.Names()[2], 0)
		restart(2)
		check("the last restarted", health.Wait, "", 20*time.Second)
		time.Sleep(time.Minute)
		check("all in turn", health.Note, s.Names()[0], 0)
		m.Stop(1)
		check("one is down", health.Fix, "", 0)
	})
}

// A clock apart is named, be it a node's or ours.
func TestCheckTellsWhoseClockStandsApart(t *testing.T) {
	t.Parallel()
	m := redistest.MiniN(t, 3)
	s := open(t, config(m.URLs(), embedded(m)))
	m.Node(2).SetTime(time.Now().Add(-time.Hour))
	c := checked(t, s)
	if got := found(c.Nodes[2], "clock"); !strings.Contains(got, "from the median of all: set it right, at 10s apart votes are lost") {
		t.Errorf("the clock of node 3: %q", got)
	}
	if got := found(c.Nodes[0], "clock"); got != "" || len(c.Local) > 0 {
		t.Errorf("blames %q and %v", got, c.Local)
	}
	for i := range 3 {
		m.Node(i).SetTime(time.Now().Add(-time.Hour))
	}
	s = open(t, config(m.URLs(), embedded(m)))
	if c = checked(t, s); len(c.Local) != 1 || found(c.Nodes[0], "clock") != "" {
		t.Errorf("an hour ahead of all nodes: %v, %q", c.Local, found(c.Nodes[0], "clock"))
	}
}
