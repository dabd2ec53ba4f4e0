package servertest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is how long a server may take to end before it is killed.
const stopTimeout = 10 * time.Second

// A Home is a directory for a server, and the user who runs it.
type Home struct {
	Dir   string
	owner *syscall.Credential // nil: whoever runs the test
}

// NewHome makes a directory with a short name: it will hold a socket. Databases
// refuse to be run by root, so for root it belongs to the given user if there is
// one, else to nobody.
func NewHome(t testing.TB, name string) Home {
	t.Helper()
	dir, err := os.MkdirTemp("", "servertest") //nolint:usetesting // t.TempDir's names are too long for sockets, and closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := Home{Dir: dir}
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

// Own gives what is in a directory of the home to the user who runs the server.
func (h Home) Own(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chmod(path, 0o700) //nolint:gosec // a directory, or a file in one that is closed to others
		}
		if err == nil && h.owner != nil {
			err = os.Chown(path, int(h.owner.Uid), int(h.owner.Gid))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Backup copies a directory of stopped servers. The function that it returns puts the copies
// back while they are stopped again.
func Backup(t testing.TB, homes []Home, name string, whileStopped func(do func())) (restore func()) {
	t.Helper()
	copies := t.TempDir()
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	whileStopped(func() {
		for n, h := range homes {
			try(os.CopyFS(filepath.Join(copies, strconv.Itoa(n)), os.DirFS(filepath.Join(h.Dir, name))))
		}
	})
	return func() {
		t.Helper()
		whileStopped(func() {
			for n, h := range homes {
				dir := filepath.Join(h.Dir, name)
				try(os.RemoveAll(dir))
				try(os.CopyFS(dir, os.DirFS(filepath.Join(copies, strconv.Itoa(n)))))
				h.Own(t, dir)
			}
		})
	}
}

// Run runs a program to its end.
func (h Home) Run(t testing.TB, bin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir, cmd.SysProcAttr = h.Dir, &syscall.SysProcAttr{Credential: h.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", bin, err, out)
	}
}

// A Server is a program that runs until it is told to stop.
type Server struct {
	Bin   string
	Args  []string
	Ready string // what its log says when it accepts connections
	Stop  syscall.Signal
}

// A Process is a server that runs.
type Process struct {
	cmd  *exec.Cmd
	stop syscall.Signal
	done chan struct{}
}

// Serve starts s and returns when it accepts connections. It ends with the test.
func (h Home) Serve(t testing.TB, s Server) *Process {
	t.Helper()
	cmd := exec.Command(s.Bin, s.Args...) //nolint:noctx // ended by its own signal, below
	cmd.Dir = h.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.owner, Pdeathsig: s.Stop}
	ready, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		// The kernel sends Pdeathsig when the thread that started the process
		// ends, so that thread is kept.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		follow(cmd, s.Ready, ready)
	}()
	p := &Process{cmd, s.Stop, done}
	t.Cleanup(p.Stop)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	return p
}

// PID is the identifier of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("sending %v to %s: %v", s, p.cmd.Path, err)
	}
}

// Kill ends the process with kill -9.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGKILL)
	p.Wait()
}

// Freeze stops the process until Thaw.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGSTOP)
}

// Thaw lets a frozen process continue.
func (p *Process) Thaw(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGCONT)
}

// Wait waits until the process has ended.
func (p *Process) Wait() { <-p.done }

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

// Stop ends the process, if it has not ended.
func (p *Process) Stop() {
	if p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Signal(p.stop)          // it may have ended by itself
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // or be stopped
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Program finds a program, or fails the test and says what to install. Debian keeps servers
// where no PATH leads.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
	for _, path := range append(found, "/usr/sbin/"+name) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("this test needs %s: apt-get install %s", name, debian)
	return ""
}

// FreePort returns a port of the loopback that nobody listens on, and that no other caller gets
// until the test ends, in this process or another: a server may take seconds until it listens, and
// may be down for a while. For that it holds the port of UDP with the same number, which servers do
// not want. The port is below those that systems give to outgoing connections.
func FreePort(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		addr := "127.0.0.1:" + strconv.Itoa(10_000+rand.IntN(20_000))
		var held net.PacketConn
		if held, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", addr); err != nil {
			continue
		}
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr); err != nil {
			_ = held.Close()
			continue
		}
		_ = l.Close()
		t.Cleanup(func() { _ = held.Close() })
		return strings.TrimPrefix(addr, "127.0.0.1:")
	}
	t.Fatal(err)
	return ""
}
