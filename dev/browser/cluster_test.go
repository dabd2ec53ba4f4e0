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

// A cluster is five nodes or the server of another store, a sink, and three replicas.
type cluster struct {
	t        *testing.T
	on       kind
	nodes    []*redistest.Server
	server   server // nil: there are nodes
	sink     *redistest.Server
	config   string
	replicas map[string]*process
	urls     map[string]string // of the dashboard, by replica
}

// newCluster prepares one with the jobs; SINK among them is the address of the sink.
func newCluster(t *testing.T, on kind, jobs string) *cluster {
	t.Helper()
	c := &cluster{t: t, on: on, sink: redistest.Start(t), replicas: map[string]*process{}, urls: map[string]string{}}
	if on.start == nil {
		c.nodes = redistest.StartN(t, 5)
	} else {
		c.server = on.start(t)
	}
	c.config = c.write("config.yaml", jobs)
	if c.server != nil {
		c.does("store", "migrate")
	}
	c.does("store", "init")
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

// does runs a command, again while a busy machine makes the store answer too late.
func (c *cluster) does(command ...string) {
	c.t.Helper()
	for n := 1; ; n++ {
		var out bytes.Buffer
		code := (cmd.App{Registry: registry(), Stores: programStores(), Out: &out, Err: &out}).Exec(c.t.Context(), append(slices.Clone(command), "-c", c.config))
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
	if c.server != nil {
		fmt.Fprintf(&b, "%s: {url: %q, failover_grace: 12s}\n", c.on.store.Section(), c.server.URL())
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
