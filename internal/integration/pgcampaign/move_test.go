package pgcampaign_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/store/postgres/pgtest"
)

// Everything moves from Redis nodes to PostgreSQL, and from there to other nodes. No tick runs
// twice, and tokens grow.
func TestMove(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	dir := filepath.Dir(c.config)
	nodes := func() string {
		return fmt.Sprintf("redis: {nodes: [%s], restart_grace: %s, node_timeout: %s}", strings.Join(redistest.URLs(redistest.StartN(t, 3)), ", "), grace, timeout)
	}
	for n, store := range []string{
		nodes(), fmt.Sprintf("postgres: {url: %q, failover_grace: %s, timeout: %s}", pgtest.Start(t).URL(), grace, timeout), nodes(),
	} {
		from := c.config
		c.config = filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		c.configure(store, c.commands())
		switch {
		case n == 0:
			must(t, "store", "init", "-c", c.config)
		case strings.HasPrefix(store, "postgres"):
			must(t, "store", "migrate", "-c", c.config)
			fallthrough
		default:
			c.move(from, c.config)
		}
		c.work(n)
	}
	c.checkOnce()
}

// work lets two replicas run jobs. One is killed, and the other one drains.
func (c *campaign) work(n int) {
	c.t.Helper()
	before := len(c.effects())
	c.replicas = map[string]*process{}
	for _, id := range []string{"a", "b"} {
		c.start(id)
	}
	c.ready()
	tag := fmt.Sprintf("tag-%d", n)
	must(c.t, "pause", "--tag", tag, "--reason", "test", "-c", c.config)
	must(c.t, "trigger", "quick", "--reason", "test", "-c", c.config)
	eventually(c.t, "jobs run", func() bool { return len(c.effects()) > before+20 })
	_, stderr, code := quorate(c.t, "store", "copy", "--from", c.config, "--to", c.config)
	if code == 0 || !strings.Contains(stderr, "stop all replicas") {
		c.t.Errorf("a copy of a store that is used: exit code %d: %s", code, stderr)
	}
	c.replicas["a"].kill()
	c.replicas["b"].drain()
}

// move copies, and compares what both stores list.
func (c *campaign) move(from, to string) {
	c.t.Helper()
	eventually(c.t, "the copy is done", func() bool {
		stdout, stderr, code := quorate(c.t, "store", "copy", "--from", from, "--to", to, "--as", "mover")
		if code != 0 && !strings.Contains(stderr, "replica a uses") && !strings.Contains(stderr, "is held") {
			c.t.Fatalf("the copy: exit code %d: %s", code, stderr)
		}
		if code == 0 {
			c.t.Log(stdout)
		}
		return code == 0
	})
	for _, j := range allJobs() {
		for _, listed := range []string{"runs", "ticks"} {
			old, now := c.listed(from, listed, j.name), c.listed(to, listed, j.name)
			if len(old) < 2 || !reflect.DeepEqual(old, now) {
				c.t.Errorf("%s %s: %d in the old store, %d in the new one:\n%v\n%v", listed, j.name, len(old), len(now), old, now)
			}
		}
	}
	old, now := c.listed(from, "audit", "--job="), c.listed(to, "audit", "--job=")
	if len(old) < 2 || len(now) != len(old)+1 || !reflect.DeepEqual(old, now[1:]) || now[0]["kind"] != "copy" || now[0]["by"] != "mover" {
		c.t.Errorf("audit: %v\nwas %v", now, old)
	}
}

// listed returns the rows of a listing that are stored: each second makes more of those that are
// computed. The names of nodes are left out: a store that is not made of them cannot name them.
func (c *campaign) listed(config, what, more string) (rows []map[string]any) {
	c.t.Helper()
	text := must(c.t, what, more, "-c", config, "--limit", "1000", "-o", "json")
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		c.t.Fatal(err)
	}
	rows = slices.DeleteFunc(rows, func(row map[string]any) bool { return row["recorded"] == false })
	for _, row := range rows {
		if poll, ok := row["poll"].(map[string]any); ok {
			nodes, _ := poll["nodes"].([]any)
			for _, answer := range nodes {
				delete(answer.(map[string]any), "node")
			}
		}
	}
	return rows
}
