package sqltest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is how long a server may take to end before it is killed.
const stopTimeout = 10 * time.Second

// A home is a directory for a server, and the user who runs it.
type home struct {
	dir   string
	owner *syscall.Credential // nil: whoever runs the test
}

// newHome makes a directory with a short name: it will hold a socket. Databases
// refuse to be run by root, so for root it belongs to the given user if there is
// one, else to nobody.
func newHome(t testing.TB, name string) home {
	t.Helper()
	dir, err := os.MkdirTemp("", "sqltest") //nolint:usetesting // t.TempDir's names are too long for sockets, and closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := home{dir: dir}
	if os.Geteuid() != 0 {
		return h
	}
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		t.Fatalf("no unprivileged user to run a database as: %v", err)
	}
	uid, gid := id(t, u.Uid), id(t, u.Gid)
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	h.owner = &syscall.Credential{Uid: uid, Gid: gid}
	return h
}

func id(t testing.TB, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// run runs a program to its end.
func (h home) run(t testing.TB, bin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir, cmd.SysProcAttr = h.dir, &syscall.SysProcAttr{Credential: h.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", bin, err, out)
	}
}

// A server is a program that runs until it is told to stop.
type server struct {
	bin   string
	args  []string
	ready string // what its log says when it accepts connections
	stop  syscall.Signal
}

// serve starts s and returns when it accepts connections.
func (h home) serve(t testing.TB, s server) {
	t.Helper()
	cmd := exec.Command(s.bin, s.args...) //nolint:noctx // ended by its own signal, below
	cmd.Dir = h.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.owner, Pdeathsig: s.stop}
	ready, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		// The kernel sends Pdeathsig when the thread that started the process
		// ends, so that thread is kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		follow(cmd, s.ready, ready)
	}()
	t.Cleanup(func() { end(cmd, s.stop, done) })
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
}

// follow starts the process, reads its log until it ends, and tells when it is
// ready, or what it said if it never was.
func follow(cmd *exec.Cmd, sign string, ready chan<- error) {
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		ready <- fmt.Errorf("starting %s: %w", cmd.Path, err)
		return
	}
	if said := readUntil(log, sign); said != "" {
		ready <- fmt.Errorf("%s ended before it was ready:\n%s", cmd.Path, said)
	} else {
		ready <- nil
	}
	_, _ = io.Copy(io.Discard, log)
	_ = cmd.Wait() // the test ends it; how it ended is of no interest
}

// readUntil reads log until a line has the sign. It returns what it read if
// there was none.
func readUntil(log io.Reader, sign string) string {
	var said []string
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), sign) {
			return ""
		}
		said = append(said, lines.Text())
	}
	return strings.Join(append(said, "(end of its log)"), "\n")
}

func end(cmd *exec.Cmd, sig syscall.Signal, done <-chan struct{}) {
	if cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // it may have ended by itself
	select {
	case <-done:
	case <-time.After(stopTimeout):
		_ = cmd.Process.Kill()
		<-done
	}
}

// program finds a program, or fails the test and says what to install.
func program(t testing.TB, name, debian string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, path := range append(postgresBins(name), "/usr/sbin/"+name) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("this test needs %s: apt-get install %s", name, debian)
	return ""
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
