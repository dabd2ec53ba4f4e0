package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
)

// inMemory stands for PostgreSQL.
type inMemory struct{ *kvtest.Memory }

func (inMemory) Section() string { return config.SectionPostgres }

func (inMemory) Address() string { return "" }

func (s inMemory) Open(context.Context, config.Cluster) (kv.Server, error) { return s.Memory, nil }

// Calls of each command that asks the store, with jobs that exist and one that does not.
var storeCalls = map[string][]string{
	"audit":         {"audit", "audit -o json"},
	"backfill":      {"backfill tick --from 2026-01-01 --to 2026-01-01T00:00:03Z --dry-run", "backfill tick --from 2026-01-01 --to 2026-01-01T00:00:03Z --reason x", "backfill other --from 2026-01-01 --to 2026-01-02 --reason x"},
	"cancel":        {"cancel hang --reason x", "cancel other --reason x"},
	"jobs":          {"jobs"},
	"jobs forget":   {"jobs forget other --yes", "jobs forget tick --yes"},
	"locks":         {"locks"},
	"locks release": {"locks release other --reason x", "locks release hang --reason x"},
	"logs":          {"logs tick", "logs other"},
	"nodes":         {"nodes"},
	"pause":         {"pause other --reason x", "pause --tag other --reason x", "pause tick --reason x"},
	"pauses":        {"pauses"},
	"replicas":      {"replicas"},
	"resume":        {"resume tick --reason x", "resume tick --reason x", "resume other --reason x"},
	"runs":          {"runs", "runs tick", "runs other", "runs --outcome missed"},
	"store check":   {"store check"},
	"store init":    {"store init", "store init --service shop"},
	"ticks":         {"ticks", "ticks tick", "ticks other"},
	"top":           {"top --once"},
	"trigger":       {"trigger tick --reason x", "trigger other --reason x"},
	// These are not about this store: help, of nodes alone, of PostgreSQL alone, or of two stores.
	"store": nil, "nodes change": nil, "store migrate": nil, "store copy": nil,
}

// Commands and replicas speak of one store as of one, neither of nodes nor of votes, whether it is
// well, new, full, hung or stopped, and say once what is wrong. So do their errors, and the replica's log.
func TestCommandsOnOneStore(t *testing.T) {
	t.Parallel()
	var calls []string
	eachCommand(newRoot(&cli{}), func(c *cobra.Command) {
		top := c
		for top.HasParent() && top.Parent().HasParent() {
			top = top.Parent()
		}
		if name := strings.TrimPrefix(c.CommandPath(), "quorate "); (top.GroupID == groupLook || top.GroupID == groupCommand) && (c.RunE != nil || c.Run != nil) {
			if _, known := storeCalls[name]; !known {
				t.Errorf("quorate %s is not tried", name)
			}
			calls = append(calls, storeCalls[name]...)
		}
	})
	calls = append(calls, "health", "health --ready")
	words := regexp.MustCompile(`(?i).*\b(nodes?|vot(e|es|ed|ing)|quorum)\b.*`)
	says := func(t *testing.T, what, text string) {
		t.Helper()
		for _, line := range words.FindAllString(text, -1) {
			t.Errorf("%s says: %s", what, line)
		}
		for line := range strings.Lines(text) {
			for _, once := range []string{"deadline exceeded", "does not answer", "refused by the store"} {
				if strings.Count(line, once) > 1 {
					t.Errorf("%s says %q more than once: %s", what, once, line)
				}
			}
		}
	}
	for name, open := range map[string]func(t *testing.T) (section string, stores []replica.Store, set func(state string)){
		"in memory": func(t *testing.T) (string, []replica.Store, func(string)) {
			var state atomic.Value
			state.Store("well")
			m := &kvtest.Memory{Fault: func(ctx context.Context, c kvtest.Call) error {
				switch {
				case state.Load() == "hung":
					<-ctx.Done()
				case state.Load() == "stopped":
					return errors.New("127.0.0.1:5432: connection refused")
				case state.Load() == "full" && c.Method == "Commit":
					return kvtest.Refusal("no space is left")
				}
				return nil
			}}
			return "postgres: {url: 'postgres://app@127.0.0.1:5432/app', timeout: 200ms}", []replica.Store{inMemory{m}}, func(s string) { state.Store(s) }
		},
		"Redis": func(t *testing.T) (string, []replica.Store, func(string)) {
			server := redistest.Start(t)
			return fmt.Sprintf("redis: {url: %q}", server.URL()), nil, func(s string) {
				switch s {
				case "full":
					if err := server.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
						t.Fatal(err)
					}
				case "hung":
					server.Freeze()
				case "stopped":
					server.Thaw()
					server.Kill()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			section, stores, set := open(t)
			path := filepath.Join(t.TempDir(), "config.yaml")
			text := fmt.Sprintf(`%s
service: shop
http: {probes_listen: %q}
log: {level: debug}
jobs:
  tick: {func: exec, schedule: "@every 1s", params: {command: ["true"]}}
  hang: {func: exec, schedule: "@every 1s", params: {command: [sleep, "100"]}}
`, section, freeAddr(t))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			quorate := func(args ...string) string {
				var out bytes.Buffer
				app := App{Registry: builtins(), Stores: stores, In: strings.NewReader(""), Out: &out, Err: &out}
				app.Exec(t.Context(), append(args, "-c", path))
				return out.String()
			}
			calls := slices.Clone(calls)
			each := func(state string) {
				for _, call := range calls {
					said := strings.ReplaceAll(quorate(strings.Fields(call)...), "has one store and no Redis nodes", "")
					says(t, state+": quorate "+call, said)
				}
			}
			each("new")
			if said := quorate("store", "init"); !strings.Contains(said, "declared new") {
				t.Errorf("store init: %s", said)
			}
			var log logtest.Buffer
			ctx, stop := context.WithCancel(t.Context())
			hard := make(chan struct{})
			ended := make(chan int, 1)
			go func() {
				app := App{Registry: builtins(), Stores: stores, In: strings.NewReader(""), Out: &log, Err: &log, Hard: hard}
				ended <- app.Exec(ctx, []string{"run", "-c", path})
			}()
			defer func() {
				stop()
				close(hard)
				<-ended
				if t.Failed() {
					t.Logf("the log\n%s", log.String())
				}
			}()
			eventually(t, "both jobs run", func() bool {
				text := quorate("runs")
				return strings.Contains(text, "tick") && strings.Contains(text, "hang")
			})
			each("well")
			calls = append(calls, "store init --restored", "store init --ahead")
			set("full")
			eventually(t, "the replica notices that the store is full", func() bool { return strings.Contains(quorate("health", "--ready"), "takes no writes") })
			each("full")
			set("hung")
			eventually(t, "the replica notices that the store hangs", func() bool { return !strings.Contains(quorate("health", "--ready"), "takes no writes") })
			each("hung")
			set("stopped")
			eventually(t, "the replica notices that the store has stopped", func() bool { return strings.Contains(quorate("health", "--ready"), "connection refused") })
			each("stopped")
			says(t, "the log", log.String())
		})
	}
}

// Why there is no connection to PostgreSQL is the same sentence everywhere, once, with the address and
// the cause, and without the user, the database or the password.
func TestPostgresIsAway(t *testing.T) {
	t.Parallel()
	away, probes := freeAddr(t), freeAddr(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("postgres: {url: 'postgres://ann:Geheim1@%s/shop'}\nhttp: {probes_listen: %q}\njobs: {tick: {func: exec, schedule: '@daily', params: {command: ['true']}}}\n", away, probes)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log logtest.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		app := App{Registry: builtins(), In: strings.NewReader(""), Out: &log, Err: &log}
		ended <- app.Exec(ctx, []string{"run", "-c", path})
	}()
	eventually(t, "the replica says that it waits", func() bool { return strings.Contains(log.String(), "no job runs until the store answers") })
	said := map[string]string{"the log": log.String()}
	for _, call := range []string{"health --ready", "store check", "store migrate", "store init", "jobs", "ticks", "locks", "replicas", "audit", "pauses", "top --once", "pause --tag x --reason x", "trigger tick --reason x"} {
		stdout, stderr, _ := quorate(t, append(strings.Fields(call), "-c", path)...)
		said["quorate "+call] = stdout + stderr
	}
	stop()
	<-ended
	for what, text := range said {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), away+": connection refused") {
			t.Errorf("%s does not say why: %s", what, text)
		}
		for line := range strings.Lines(text) {
			if strings.Count(line, "connection refused") > 1 {
				t.Errorf("%s says it more than once: %s", what, line)
			}
		}
		for _, not := range []string{"ann", "user", "Geheim1", "dial", "(127"} {
			if strings.Contains(text, not) {
				t.Errorf("%s has %q: %s", what, not, text)
			}
		}
	}
}
