package cmd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// TestSystemdIsTold runs a replica as systemd does, with a socket for its state: it is
// ready when its nodes vote, alive while its loop runs, and stopping in its drain. The
// commands of its jobs know nothing of the socket.
func TestSystemdIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environment := filepath.Join(dir, "environment")
	config := writeConfig(t, redistest.StartN(t, 1), fmt.Sprintf(`
jobs:
  environment:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'env >%s.new; mv %s.new %s'], inherit_env: true}
`, environment, environment, environment))
	socket := listenAsSystemd(t, filepath.Join(dir, "notify"))
	wrapper := filepath.Join(dir, "quorate")
	script := fmt.Sprintf("#!/bin/sh\nNOTIFY_SOCKET=%s WATCHDOG_USEC=400000 WATCHDOG_PID=$$ exec %s \"$@\"\n", socket.LocalAddr(), os.Args[0])
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}

	p := campaigntest.StartBinary(t, wrapper, config, "a")
	sent := func(what, line string) []string {
		t.Helper()
		var lines []string
		for {
			lines = append(lines, receive(t, what, socket)...)
			if last := lines[len(lines)-1]; strings.HasPrefix(last, line) {
				return lines
			}
		}
	}
	all := strings.Join(sent("the replica is ready", "STATUS=taking ticks"), "\n")
	if before, _, ready := strings.Cut(all, "READY=1"); !ready || !strings.Contains(before, "STATUS=") {
		t.Errorf("told systemd %q, want why it waits for the node's grace, and then that it is ready", all)
	}
	sent("the loop is alive", "WATCHDOG=1")
	sent("the loop is alive", "WATCHDOG=1")
	eventually(t, "the job to run", func() bool { _, err := os.Stat(environment); return err == nil })
	p.Signal(syscall.SIGTERM)
	stopping := strings.Join(sent("the replica drains", "STATUS=draining"), "\n")
	if !strings.Contains(stopping, "STOPPING=1") {
		t.Errorf("told systemd %q in its drain", stopping)
	}
	if code := p.ExitCode(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(environment)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		if strings.Contains(string(text), name) {
			t.Errorf("a job's command knows %s", name)
		}
	}
}

func listenAsSystemd(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket
}

// receive returns the lines of the next message.
func receive(t *testing.T, what string, socket *net.UnixConn) []string {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 4096)
	n, err := socket.Read(message)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("still waiting: %s", what)
	} else if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(message[:n]), "\n")
}
