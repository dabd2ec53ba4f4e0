//go:build signin

package signin_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// patience bounds waits that end by themselves when the code is right.
const patience = 60 * time.Second

// program returns the path that a variable has; make signin sets it.
func program(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s does not name a program: run make signin", variable)
	}
	return path
}

// start starts a program that ends with the test, and with the test binary. It returns when the program
// listens on the address.
func start(t *testing.T, address, path string, args ...string) {
	t.Helper()
	name := filepath.Base(path)
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // its end would end the process
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the test kills it; how it ended is of no interest
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		<-ended // the context of the test has
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			lines := bytes.Split(text, []byte("\n"))
			t.Logf("log of %s:\n%s", name, bytes.Join(lines[max(len(lines)-30, 0):], []byte("\n")))
		}
		log.Close()
	})
	awaitListening(t, address, name, ended)
}

// awaitListening waits until a program accepts connections.
func awaitListening(t *testing.T, address, name string, ended <-chan struct{}) {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended", name)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen on %s", name, address)
}
