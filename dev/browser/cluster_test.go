package browser_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/scheduler/identity"
)

// base is where the clusters serve the dashboard: below a path, as behind a proxy.
const base = "/admin/cron"

// password is that of every user; users are named as their role.
const password = "correct horse battery"

// stored makes what the configuration holds of the password: it takes a while.
var stored = sync.OnceValues(func() (string, error) { return gate.HashPassword(password) })

// A cluster is five nodes or a PostgreSQL, a sink, and three replicas.
type cluster struct {
	t        *testing.T
	nodes    []*redistest.Server
	db       *pgtest.Server // nil: there are nodes
	sink     *redistest.Server
	config   string
	replicas map[string]*process
	urls     map[string]string // of the dashboard, by replica
}

// newCluster prepares one with the jobs; SINK among them is the address of the sink.
func newCluster(t *testing.T, jobs string) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: redistest.StartN(t, 5)}
	c.init(jobs)
	return c
}

// newClusterOnPostgres does so on PostgreSQL.
func newClusterOnPostgres(t *testing.T, jobs string) *cluster {
	t.Helper()
	c := &cluster{t: t, db: pgtest.Start(t)}
	c.init(jobs)
	return c
}

// write writes a configuration of the cluster with the jobs.
func (c *cluster) write(name, jobs string) (path string) {
	c.t.Helper()
	path = filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(c.text(jobs)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// init lets the store begin.
func (c *cluster) init(jobs string) {
	c.t.Helper()
	c.sink, c.replicas, c.urls = redistest.Start(c.t), map[string]*process{}, map[string]string{}
	c.config = c.write("config.yaml", jobs)
	if c.db != nil {
		c.does("store", "migrate")
	}
	c.does("store", "init")
}

// does runs a command, again while a busy machine makes the store answer too late.
func (c *cluster) does(command ...string) {
	c.t.Helper()
	for n := 1; ; n++ {
		var out bytes.Buffer
		code := (cmd.App{Registry: registry(), Out: &out, Err: &out}).Exec(c.t.Context(), append(slices.Clone(command), "-c", c.config))
		if code == 0 {
			return
		}
		if n == 5 || !strings.Contains(out.String(), "does not answer") {
			c.t.Fatal(out.String())
		}
	}
}

func (c *cluster) text(jobs string) string {
	c.t.Helper()
	hash, err := stored()
	if err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("namespace: shop\n")
	if c.db != nil {
		fmt.Fprintf(&b, "postgres: {url: %q, failover_grace: 12s}\n", c.db.URL())
	} else {
		b.WriteString("redis:\n  node_timeout: 1s\n  restart_grace: 12s\n  nodes:\n")
	}
	for i, s := range c.nodes {
		fmt.Fprintf(&b, "    - {name: redis-%d, url: %q}\n", i+1, s.URL())
	}
	fmt.Fprintf(&b, "lock: {ttl: 5s, safety_margin: 1200ms}\nlog: {format: json}\n")
	fmt.Fprintf(&b, "http:\n  listen: 127.0.0.1:0\n  base_path: %s\n  anonymous: none\n  users:\n", base)
	for _, role := range []identity.Role{identity.Viewer, identity.Operator, identity.Admin} {
		fmt.Fprintf(&b, "    %s: {role: %[1]s, password: %q}\n", role, hash)
	}
	return b.String() + strings.ReplaceAll(jobs, "SINK", c.sink.Addr())
}

// start starts the replicas and waits until they serve.
func (c *cluster) start(ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		c.replicas[id] = startReplica(c.t, c.config, id)
	}
	for _, id := range ids {
		c.urls[id] = c.replicas[id].serves()
	}
}

// lets allows the run that waits before it writes to do so.
func (c *cluster) lets() {
	c.t.Helper()
	if err := c.sink.Client().RPush(c.t.Context(), gateList, "go").Err(); err != nil {
		c.t.Fatal(err)
	}
}

// other is a replica, but not that one.
func (c *cluster) other(id string) string {
	if id == "web-1" {
		return "web-2"
	}
	return "web-1"
}
