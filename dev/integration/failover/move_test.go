package failover_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// A moving is a campaign whose store changes.
type moving struct{ *campaigntest.Campaign }

// Everything moves from Redis nodes to PostgreSQL, and from there to other nodes. No tick runs
// twice, and tokens grow.
func TestMove(t *testing.T) {
	t.Parallel()
	c := &moving{campaigntest.New(t)}
	dir := filepath.Dir(c.Config)
	nodes := func() string {
		return fmt.Sprintf("redis: {nodes: [%s], restart_grace: %s, node_timeout: %s}", strings.Join(redistest.URLs(redistest.StartN(t, 3)), ", "), campaigntest.Grace, campaigntest.Timeout)
	}
	for n, store := range []string{
		nodes(), fmt.Sprintf("postgres: {url: %q, failover_grace: %s, timeout: %s}", pgtest.Start(t).URL(), campaigntest.Grace, campaigntest.Timeout), nodes(),
	} {
		from := c.Config
		c.Config = filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		c.Configure(store, c.Commands())
		switch {
		case n == 0:
			c.Must("store", "init")
		case strings.HasPrefix(store, "postgres"):
			c.Must("store", "migrate")
			fallthrough
		default:
			c.move(from, c.Config)
		}
		c.work(n)
	}
	c.CheckOnce()
}

// work lets two replicas run jobs. One is killed, and the other one drains.
func (c *moving) work(n int) {
	c.Helper()
	before := len(c.Effects())
	clear(c.Replicas)
	for _, id := range []string{"a", "b"} {
		c.Start(id)
	}
	c.Ready()
	tag := fmt.Sprintf("tag-%d", n)
	c.Must("pause", "--tag", tag, "--reason", "test")
	c.Must("trigger", "quick", "--reason", "test")
	c.Eventually("jobs run", func() bool { return len(c.Effects()) > before+20 })
	_, stderr, code := c.Command("store", "copy", "--from", c.Config, "--to", c.Config)
	if code == 0 || !strings.Contains(stderr, "stop all replicas") {
		c.Errorf("a copy of a store that is used: exit code %d: %s", code, stderr)
	}
	c.Replicas["a"].Kill()
	c.Replicas["b"].Drain()
}

// move copies, and compares what both stores list.
func (c *moving) move(from, to string) {
	c.Helper()
	c.Eventually("the copy is done", func() bool {
		stdout, stderr, code := c.Command("store", "copy", "--from", from, "--to", to, "--as", "mover")
		if code != 0 && code != campaigntest.NoQuorum && !strings.Contains(stderr, "replica a uses") && !strings.Contains(stderr, "is held") {
			c.Fatalf("the copy: exit code %d: %s", code, stderr)
		}
		if code == 0 {
			c.Log(stdout)
		}
		return code == 0
	})
	for _, j := range campaigntest.Jobs() {
		for _, listed := range []string{"runs", "ticks"} {
			old, now := c.listed(from, listed, j.Name), c.listed(to, listed, j.Name)
			if len(old) < 2 || !reflect.DeepEqual(old, now) {
				c.Errorf("%s %s: %d in the old store, %d in the new one:\n%v\n%v", listed, j.Name, len(old), len(now), old, now)
			}
		}
	}
	old, now := c.listed(from, "audit", "--job="), c.listed(to, "audit", "--job=")
	if len(old) < 2 || len(now) != len(old)+1 || !reflect.DeepEqual(old, now[1:]) || now[0]["kind"] != "copy" || now[0]["by"] != "mover" {
		c.Errorf("audit: %v\nwas %v", now, old)
	}
}

// listed returns the rows of a listing that are stored: each second makes more of those that are
// computed. The names of nodes are left out: a store that is not made of them cannot name them.
func (c *moving) listed(config, what, more string) (rows []map[string]any) {
	c.Helper()
	var text, stderr string
	c.Eventually("the store lists "+what, func() (answered bool) {
		var code int
		text, stderr, code = c.Command(what, more, "-c", config, "--limit", "1000", "-o", "json")
		return code != campaigntest.NoQuorum
	})
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		c.Fatal(err, stderr)
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
