package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

const (
	nodes = 3
	// lead is when a replica's tick comes, after its start; span is how long it lives.
	lead, span = 5 * time.Second, 9 * time.Second
)

// A store is what replicas run on: how a new one is begun, and its section of the configuration.
type store struct {
	name    string
	section func(testing.TB) string
	setup   []string // subcommands of quorate store
}

// stores are those that are measured.
func stores() []store {
	return []store{{"redis", onNodes, []string{"init"}}, {"postgres", onPostgres, []string{"migrate", "init"}}}
}

// live runs a replica with one job, whose only tick comes soon, or in years. The replica is then
// drained. It returns the folder with its counters.
func live(tb testing.TB, program string, s store, tick bool) (string, error) {
	tb.Helper()
	home, counters, section := tb.TempDir(), tb.TempDir(), s.section(tb)
	file, ran := filepath.Join(home, "config.yaml"), filepath.Join(home, "ran")
	var log bytes.Buffer
	quorate := func(into string, args ...string) *exec.Cmd {
		c := exec.CommandContext(tb.Context(), program, append(args, "--config", file)...)
		c.Env, c.Stderr = append(os.Environ(), "GOCOVERDIR="+into), &log
		return c
	}
	write := func(at time.Time) error {
		text := fmt.Sprintf("namespace: walk\n%s\njobs:\n  walk: {func: exec, schedule: \"@at %s\", params: {command: [touch, %q]}}\n", section, at.UTC().Format(time.RFC3339), ran)
		return os.WriteFile(file, []byte(text), 0o600)
	}
	if err := write(time.Now().AddDate(5, 0, 0)); err != nil {
		return "", err
	}
	for _, command := range s.setup {
		if err := quorate(home, "store", command).Run(); err != nil {
			return "", fmt.Errorf("quorate store %s: %w\n%s", command, err, &log)
		}
	}
	if tick {
		if err := write(time.Now().Add(lead)); err != nil {
			return "", err
		}
	}
	replica := quorate(counters, "run")
	if err := replica.Start(); err != nil {
		return "", err
	}
	end := time.AfterFunc(span, func() { _ = replica.Process.Signal(syscall.SIGTERM) })
	defer end.Stop()
	if err := replica.Wait(); err != nil {
		return "", fmt.Errorf("quorate run: %w\n%s", err, &log)
	}
	if _, err := os.Stat(ran); tick == errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the tick did not come within the replica's life, or an idle one had a tick\n%s", &log)
	}
	return counters, nil
}

// onNodes starts Redis nodes, and returns the section that names them.
func onNodes(tb testing.TB) string {
	tb.Helper()
	var urls []string
	for _, s := range redistest.StartN(tb, nodes) {
		urls = append(urls, "redis://"+s.Addr())
	}
	return "redis: {nodes: [" + strings.Join(urls, ", ") + "]}"
}

// onPostgres does so with a PostgreSQL server.
func onPostgres(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprintf("postgres: {url: %q}", pgtest.Start(tb).URL())
}
