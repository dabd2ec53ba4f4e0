package ownstore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
)

// The command line takes the store, and a program that is begun again with the same file knows its history.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, kept := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "trial.bolt")
	text := "sqlite: {path: trial.bolt}\nhttp: {listen: \"127.0.0.1:0\"}\njobs: {tick: {func: tick, schedule: \"@every 1s\"}}\n"
	if err := os.WriteFile(config, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	var end context.CancelFunc // of the program that runs
	registry := jobs.NewRegistry()
	jobs.Register(registry, "tick", func(context.Context, jobs.Run, jobs.NoParams) error {
		end()
		return nil
	})
	run := func(args ...string) string {
		t.Helper()
		var ctx context.Context
		ctx, end = context.WithCancel(t.Context())
		defer end()
		var out bytes.Buffer
		app := cmd.App{Registry: registry, Stores: []replica.Store{new(Store)}, Out: &out, Err: &out}
		if code := app.Exec(ctx, append(args, "-c", config)); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, &out)
		}
		return out.String()
	}
	for range 2 {
		run("dev", "--replicas", "1", "--keep", kept)
	}
	if text := run("runs"); strings.Count(text, "succeeded") != 2 {
		t.Errorf("the history has not two runs: %s", text)
	}
}

// workerPath names the file of a worker: with it, the test binary is one.
const workerPath = "QUORATE_TEST_BBOLT"

func TestMain(m *testing.M) {
	if path := os.Getenv(workerPath); path != "" {
		work(&server{path: path, namespace: "n"})
	}
	os.Exit(m.Run())
}

// work increments a number until the process is killed, and writes each value that is committed.
func work(s *server) {
	for {
		list, stamp, err := s.Read(context.Background(), keyX)
		n := 1
		if err == nil && list[0].Version > 0 {
			n, err = strconv.Atoi(string(list[0].Value))
			n++
		}
		var o kv.Outcome
		if err == nil {
			o, err = s.Commit(context.Background(), kv.Txn{
				Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: keyX, Version: list[0].Version}}, Put: []kv.Write{{Key: keyX, Value: []byte(strconv.Itoa(n))}},
			})
		}
		if err != nil || !o.Won {
			fmt.Fprintln(os.Stderr, o, err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// TestKilled kills a process in the middle of commits, again and again. What it has acknowledged is there, in
// the same life.
func TestKilled(t *testing.T) {
	t.Parallel()
	path, acknowledged, life := filepath.Join(t.TempDir(), "quorate.bolt"), 0, ""
	for range length.Of(5, 200) {
		worker := exec.CommandContext(t.Context(), os.Args[0])
		worker.Env = append(os.Environ(), workerPath+"="+path)
		worker.Stderr = os.Stderr
		out, err := worker.StdoutPipe()
		if err == nil {
			err = worker.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var stop *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
			if stop == nil {
				stop = time.AfterFunc(rand.N(10*time.Millisecond), func() { _ = worker.Process.Kill() })
			}
		}
		_ = worker.Wait() // it was killed
		if stop == nil {
			t.Fatal("a worker has committed nothing")
		}
		s := newServer(t, path, "n")
		list, stamp, err := s.Read(t.Context(), keyX)
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(list[0].Value))
		if err != nil || n < acknowledged || n > acknowledged+1 || life != "" && stamp.Incarnation != life {
			t.Fatalf("it has %d (%v) in %q, and %d was acknowledged in %q", n, err, stamp.Incarnation, acknowledged, life)
		}
		acknowledged, life = n, stamp.Incarnation
	}
}

// The package's documentation lists what is internal and imported.
func TestInternalImports(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^//\t(internal/\S+)`).FindAllSubmatch(text, -1) {
		listed = append(listed, string(line[1]))
	}
	imported := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "quorate-bbolt/main.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value) // it was parsed
			if own, inside := strings.CutPrefix(path, "github.com/quorate/quorate/"); inside && strings.HasPrefix(own, "internal/") {
				imported[own] = true
			}
		}
	}
	if want := slices.Sorted(maps.Keys(imported)); !slices.Equal(listed, want) {
		t.Errorf("doc.go lists %q, and %q are imported", listed, want)
	}
}
