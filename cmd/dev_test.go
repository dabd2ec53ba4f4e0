package cmd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/devnodes"
)

// A tap tells when a text has been written to it.
type tap struct {
	text string
	seen chan struct{}

	mu  sync.Mutex
	all bytes.Buffer
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := bytes.Contains(p.all.Bytes(), []byte(p.text))
	p.all.Write(b)
	if !had && bytes.Contains(p.all.Bytes(), []byte(p.text)) {
		close(p.seen)
	}
	return len(b), nil
}

// TestDevSaysThatItDrains: Ctrl-C is answered during a run.
func TestDevSaysThatItDrains(t *testing.T) {
	t.Parallel()
	out := &tap{text: "Draining: no new ticks; running jobs have 15s. Ctrl-C again cancels them at once.", seen: make(chan struct{})}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	told := make(chan error, 1)
	registry := jobs.NewRegistry()
	jobs.Register(registry, "wait", func(ctx context.Context, _ jobs.Run, _ jobs.NoParams) error {
		interrupt()
		var err error
		select {
		case <-out.seen:
		case <-ctx.Done():
			err = errors.New("nothing was said until the run was ended")
		}
		select {
		case told <- err:
		default:
		}
		return err
	})
	cfg := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(cfg, []byte("redis: {nodes: [\"redis://127.0.0.1:1\"]}\nscheduler: {drain_timeout: 15s}\n"+
		"jobs: {wait: {func: wait, schedule: \"@every 1s\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := App{Registry: registry, Out: out, Err: out}
	if code := app.Exec(ctx, []string{"dev", "-c", cfg, "--nodes", "1", "--replicas", "1"}); code != exitDone {
		t.Errorf("exit code %d: %s", code, &out.all)
	}
	select {
	case err := <-told:
		if err != nil {
			t.Errorf("%v: %s", err, &out.all)
		}
	case <-time.After(time.Minute):
		t.Error("the job never ran")
	}
}

// TestDevLetsThisMachineRead, which a replica does not by default, and says so.
func TestDevLetsThisMachineRead(t *testing.T) {
	t.Parallel()
	d, err := newDevAPI(t.Context(), config.Default().HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if d.http.Anonymous != "loopback" || d.http.AnonymousMetrics != "loopback" || !strings.Contains(d.text, "http.anonymous is loopback here") {
		t.Errorf("%+v: %s", d.http, d.text)
	}
}

// TestDevUsesNoStore: dev, next and explain need no store, and none of the file's mistakes about
// it concerns them.
func TestDevUsesNoStore(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]string{
		"none":            "",
		"no nodes":        "redis: {password: \"${env:NO_SUCH_VARIABLE}\"}\n",
		"even nodes":      "redis: {nodes: [a, b], tls: {ca_file: /nonexistent}}\n",
		"postgres":        "postgres: {url: nonsense, failover_grace: 1m}\nlock: {ttl: 30s}\n",
		"mysql":           "mysql: {tls: {ca_file: /nonexistent}, timeout: 4s}\n",
		"sqlite":          "sqlite: {path: \":memory:\"}\n",
		"etcd":            "etcd: {endpoints: [http://127.0.0.1:1], username: ann}\n",
		"zookeeper":       "zookeeper: {servers: []}\nlock: {ttl: 500ms, extend_every: 50ms}\n",
		"several at once": "redis: {url: redis://127.0.0.1:1}\npostgres: {url: postgres://a@b/c}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			registry := jobs.NewRegistry()
			jobs.Register(registry, "end", func(context.Context, jobs.Run, jobs.NoParams) error { interrupt(); return nil })
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(store+"jobs: {end: {func: end, schedule: \"@every 1s\"}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"next", "end"}, {"explain", "--job", "end"}, {"dev", "--nodes", "1", "--replicas", "1"}} {
				var out bytes.Buffer
				if code := (App{Registry: registry, Out: &out, Err: &out}).Exec(ctx, append(args, "-c", file)); code != exitDone {
					t.Errorf("%s: exit code %d: %s", args[0], code, &out)
				}
			}
			if ctx.Err() == nil {
				t.Error("the job never ran")
			}
		})
	}
}

// Embedded nodes list a thousand jobs slowly, and are never down: dev waits for them as long
// as a lease allows.
func TestDevWaitsForItsNodes(t *testing.T) {
	t.Parallel()
	nodes, err := devnodes.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	cfg := config.Default()
	onEmbedded(cfg, nodes)
	if got := cfg.Redis.NodeTimeout; got != cfg.Lock.TTL/5 || got <= config.Default().Redis.NodeTimeout {
		t.Errorf("a call may take %v, of a lease of %v", got, cfg.Lock.TTL)
	}
}

// The configuration page says which settings dev has put in place of those of the file.
func TestDevNotesItsSettings(t *testing.T) {
	t.Parallel()
	nodes, err := devnodes.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	for text, want := range map[string]string{
		"http: {base_path: /q}\n": "config.yaml:1, the program, the program, the program, the program",
		"http: {base_path: /q, anonymous: all, users_file: users}\nredis: {nodes: [redis://h]}\n": "config.yaml:1, config.yaml:1, the program, , the program",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "users"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Read(config.Source{Path: file, Environ: []string{}, NoStore: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDevAPI(t.Context(), cfg.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		onEmbedded(cfg, nodes)
		d.apply(cfg)
		var sources []string
		for _, at := range [][]string{{"http", "base_path"}, {"http", "anonymous"}, {"http", "anonymous_metrics"}, {"http", "users"}, {"redis", "nodes"}} {
			sources = append(sources, cfg.SourceOf(at...))
		}
		if got := strings.Join(sources, ", "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestDevKeepNeedsSQLite, which this program does not have, and says which one has it.
func TestDevKeepNeedsSQLite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("jobs: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--keep: this program cannot use SQLite: use quorate-sqlite;": {"dev", "--keep", "a.db"},
		"--keep takes the place of the nodes: remove --nodes":         {"dev", "--keep", "a.db", "--nodes", "3"},
	} {
		var out bytes.Buffer
		if code := (App{Registry: jobs.NewRegistry(), Out: &out, Err: &out}).Exec(t.Context(), append(args, "-c", file)); code == exitDone || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit code %d: %s, want %q", args, code, &out, want)
		}
	}
}
