package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// The command of a job cannot read the environment of the replica that runs it. As root, the test runs
// the replica as somebody else: root may read everything.
func TestCommandsCannotReadTheReplica(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // somebody else runs it
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // and writes to it
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "quorate")
	copyFile(t, os.Args[0], binary)
	found := filepath.Join(dir, "found")
	path := writeConfig(t, redistest.StartN(t, 1), fmt.Sprintf(`
jobs:
  spy:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'cat /proc/$PPID/environ >%s.new 2>&1; mv %s.new %s']}
`, found, found, found))
	config := filepath.Join(dir, "config.yaml")
	copyFile(t, path, config)
	as := ""
	if os.Getuid() == 0 {
		as = "setpriv --reuid=65534 --clear-groups "
	}
	wrapper := filepath.Join(dir, "wrapper")
	script := fmt.Sprintf("#!/bin/sh\nSECRET=Geheim1 exec %s%s \"$@\"\n", as, binary)
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	p := campaigntest.StartBinary(t, wrapper, config, "a")
	var text []byte
	eventually(t, "the job to run", func() bool {
		var err error
		text, err = os.ReadFile(found)
		return err == nil
	})
	p.Signal(syscall.SIGTERM)
	if strings.Contains(string(text), "Geheim1") || !strings.Contains(string(text), "denied") {
		t.Errorf("the command reads %q", text)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // somebody else runs it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
