package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/roster"
)

// checkup is one node of each kind.
func checkup() health.Checkup {
	well := health.Node{
		Name: "10.0.0.1:6379", URL: "redis://quorate:***@10.0.0.1:6379", Reachable: true,
		Role: "master", Version: "7.0.15", RunID: "a3f1d1c6f7f04f3c8b6a", Persistence: "aof", MaxmemoryPolicy: "noeviction",
		Members: []string{"10.0.0.1:6379", "10.0.1.1:6379"}, Epoch: 1,
		Since: tick.Add(-time.Hour + 250*time.Millisecond), Vouches: true, VouchesAt: tick.Add(-59 * time.Minute),
		RTT: 420 * time.Microsecond, Offset: -3 * time.Millisecond,
	}
	like := func(name, id string, change func(*health.Node)) health.Node {
		s := well
		s.Name, s.URL, s.RunID = name, "redis://"+name, id
		change(&s)
		return s
	}
	restarted := like("10.0.1.1:6379", "b4c2", func(s *health.Node) {
		s.Since, s.Vouches, s.VouchesAt = tick, false, tick.Add(20*time.Second)
		s.Why = "it came, or came back, at 02:00:00Z and may have lost its memory: it votes on ticks after 02:00:20Z"
		s.Persistence, s.MaxmemoryPolicy = "none", "volatile-lru"
		s.Warnings = []string{"maxmemory-policy volatile-lru may evict leases: run CONFIG SET maxmemory-policy noeviction there"}
	})
	declared := like("redis-3.example.internal:6379", "c5d3", func(s *health.Node) { s.Since, s.VouchesAt = time.Time{}, time.Unix(20, 0) })
	sealed := like("10.0.3.1:6379", "d6e4", func(s *health.Node) {
		s.SealedFor = []string{"10.0.4.1:6379", "10.0.5.1:6379"}
		s.Refuses = true
		s.Err = &membership.RefusedError{Node: s.Name, Reason: "the node is sealed for a change to the list [10.0.4.1:6379 10.0.5.1:6379]: finish it with quorate nodes change"}
	})
	down := health.Node{Name: "10.0.2.1:6379", URL: "redis://10.0.2.1:6379", Err: errors.New("dial tcp 10.0.2.1:6379: connection refused")}
	checked := func(s health.Node, used int64, findings ...health.Finding) health.Node {
		s.UsedMemory, s.Findings = used, findings
		return s
	}
	best := checked(well, 12<<20)
	best.Fsync, best.MaxMemory, best.MayRestart = "always", 100<<20, true
	durable := checked(declared, 3<<20, health.Finding{
		Topic: "persistence", Level: health.Note,
		Text: "a crash loses its last second (appendfsync everysec). Restarted, it abstains for the restart_grace of 20s, so no tick runs twice",
	})
	durable.Fsync = "everysec"
	return health.Checkup{
		Nodes: []health.Node{
			best,
			checked(restarted, 3<<20,
				health.Finding{Topic: "state", Level: health.Wait, Text: restarted.Why},
				health.Finding{Topic: "eviction", Level: health.Fix, Text: restarted.Warnings[0]}),
			durable,
			checked(sealed, 0, health.Finding{Topic: "state", Level: health.Fix, Text: "it is sealed"}),
			checked(down, 0, health.Finding{Topic: "state", Level: health.Fix, Text: "it does not answer"}),
		},
		Local:  []health.Finding{{Topic: "clock", Level: health.Fix, Text: "its clock is 12s from the median of all: set it right, at 10s apart votes are lost"}},
		NextAt: tick.Add(20 * time.Second),
	}
}

func TestGoldenNodes(t *testing.T) {
	t.Parallel()
	c := checkup()
	for _, format := range []string{"json", "table"} {
		var list, check bytes.Buffer
		if err := errors.Join(printNodes(&list, view.NodeRows(c.Nodes, false), format), printCheckup(&check, view.NewCheckup(c, false), format)); err != nil {
			t.Fatal(err)
		}
		cmdtest.Golden(t, "nodes."+format, list.String())
		cmdtest.Golden(t, "store-check."+format, check.String())
	}
}

func TestAdviceOnRestarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		checkup health.Checkup
		size    int
		want    string
	}{
		{health.Checkup{Next: "a:1"}, 3, "a:1 may be restarted now"},
		{health.Checkup{NextAt: tick}, 3, "not before 2026-12-01T02:00:00Z"},
		{health.Checkup{}, 1, "there is only one node"},
		{health.Checkup{}, 3, "no node may be restarted"},
	} {
		c.checkup.Nodes = make([]health.Node, c.size)
		if got := view.NewCheckup(c.checkup, false).Advice; !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// writeNodes writes a configuration with the servers as nodes.
func writeNodes(t *testing.T, servers ...*redistest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("redis: {nodes: [%s], node_timeout: 3s, restart_grace: 5m}\n", strings.Join(redistest.URLs(servers), ", "))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The whole way of a change on real nodes: looked at first, then made, seen in
// the listing, and in the check that follows.
func TestNodesChange(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5, redistest.Conf("appendonly yes"))
	old, longer := writeNodes(t, servers[:3]...), writeNodes(t, servers...)
	run := func(code int, want string, args ...string) {
		t.Helper()
		stdout, stderr, got := quorate(t, args...)
		if text := strings.Join(strings.Fields(stdout+stderr), " "); got != code || !strings.Contains(text, want) {
			t.Errorf("quorate %v: exit code %d, want %d and %q, got\n%s%s", args, got, code, want, stdout, stderr)
		}
	}
	run(exitDone, "declared new", "store", "init", "-c", old)
	run(exitDone, "may be restarted now", "store", "check", "-c", old)
	run(exitUsage, "--to is missing", "nodes", "change", "-c", old)
	run(exitUsage, "cannot be read", "nodes", "change", "-c", old, "--to", old+".missing")
	run(exitFailed, "nothing to change", "nodes", "change", "-c", old, "--to", old)
	run(exitDone, "nothing was changed", "nodes", "change", "-c", old, "--to", longer, "--dry-run")
	run(exitFailed, "belongs to the list", "store", "check", "-c", longer)
	run(exitDone, "next: restart every replica", "nodes", "change", "-c", old, "--to", longer)
	run(exitFailed, "not before 2", "store", "check", "-c", longer)
	run(exitFailed, "nodes change moves a cluster to another list", "store", "check", "-c", old)
	for _, row := range list[view.Node](t, "nodes", "-c", longer) {
		if row.State != "abstaining" || row.Epoch == nil || *row.Epoch != 1 || row.Why == nil {
			t.Errorf("after the change: %+v", row)
		}
	}
	run(exitDone, "[]", "runs", "-c", longer, "-o", "json")
	for _, s := range servers[:3] {
		s.Kill()
	}
	run(exitNoQuorum, "2 of 5", "store", "check", "-c", longer)
}

// A node with the data of an older format says in every command how to clear it.
func TestNodesOfAnOlderFormat(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	config := writeNodes(t, servers...)
	for _, key := range []string{"quorate:node", "{quorate}:node"} {
		servers[1].Client().HSet(t.Context(), key, "format", "1", "since", "0")
		for _, command := range []string{"check", "init", "init --recover"} {
			args := append(append([]string{"store"}, strings.Fields(command)...), "-c", config)
			stdout, stderr, code := quorate(t, args...)
			text := strings.Join(strings.Fields(stdout+stderr), " ")
			for _, want := range []string{"holds data of format 1", "delete the keys quorate:* and {quorate}:* on every node", "then start the replicas"} {
				if code != exitFailed || !strings.Contains(text, want) {
					t.Errorf("%s: %v: exit code %d, want %d and %q, got\n%s%s", key, args, code, exitFailed, want, stdout, stderr)
				}
			}
		}
		servers[1].Client().Del(t.Context(), key)
	}
	if stdout, stderr, code := quorate(t, "store", "init", "-c", config); code != exitDone {
		t.Errorf("cleared: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// The store belongs to the service that was named first: a replica of another one ends with the
// exit code of a wrong configuration, until the store is renamed.
func TestServiceOfTheStore(t *testing.T) {
	t.Parallel()
	path := writeNodes(t, redistest.StartN(t, 3)...)
	for _, args := range [][]string{{"init"}, {"init", "--service", "market"}, {"init", "--service", "shop"}} {
		if _, stderr, code := quorate(t, append([]string{"store", "--config", path}, args...)...); code != exitDone {
			t.Fatalf("store %v: exit code %d: %s", args, code, stderr)
		}
	}
	for args, want := range map[string]string{"--set service=billing": `this replica is of service "billing"`, "": "this replica names no service"} {
		_, stderr, code := quorate(t, append([]string{"run", "--config", path}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(stderr, `belongs to service "shop"`) || !strings.Contains(stderr, want) {
			t.Errorf("run %s: exit code %d, %s", args, code, stderr)
		}
	}
	kept, err := cluster.Open(t.Context(), config.Source{Path: path}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	for _, process := range []string{"1", "2"} {
		if _, err := kept.Control.Records.Roster.Beat(t.Context(), roster.Replica{ID: "web", Instance: process, State: roster.StateReady, Started: time.Now().Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	checks, _, _ := quorate(t, "store", "check", "--config", path)
	checks = strings.Join(strings.Fields(checks), " ") // it has lines for a terminal
	if !strings.Contains(checks, `belongs to service "shop"`) || !strings.Contains(checks, view.TwinsText+": web (process ") {
		t.Errorf("store check says\n%s", checks)
	}
	for _, args := range [][]string{{"--service", ""}, {"--service", "a b"}, {"--service", "shop", "--recover"}} {
		if _, stderr, code := quorate(t, append([]string{"store", "init", "--config", path}, args...)...); code != exitUsage {
			t.Errorf("store init %q: exit code %d: %s", args, code, stderr)
		}
	}
}
