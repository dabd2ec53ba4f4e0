package tutorial

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long the output of a block may take to look as on the page. Some build a
// program first, and the machine may be busy.
const patience = 5 * time.Minute

// A shell is the terminal of a user who follows a page.
type shell struct {
	t      *testing.T
	folder string // where the files of the page belong
	in     io.WriteCloser
	out    *bufio.Reader
}

const endOfBlock = "end of the block"

// newShell starts a shell in an empty folder. At the first command that fails, and when the
// test ends or is killed, the shell ends with all processes that it has started.
func newShell(t *testing.T, environ ...string) *shell {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-e")
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), environ...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = write, write
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait() // the shell kills itself with its group
		_ = out.Close()
	})
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	s := &shell{t: t, folder: command.Dir, in: in, out: bufio.NewReader(out)}
	s.run("trap 'kill -9 0' EXIT\n")
	return s
}

// run runs commands and returns what they print.
func (s *shell) run(commands string) string {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, "%secho %s\n", commands, endOfBlock); err != nil {
		s.t.Fatal(err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if line == endOfBlock+"\n" {
			return printed.String()
		}
		printed.WriteString(line)
		if err != nil {
			s.t.Fatalf("the shell has ended in\n%s\nafter\n%s", commands, printed.String())
		}
	}
}

// follow does what the page says in one block.
func (s *shell) follow(b block) {
	s.t.Helper()
	if b.file != "" {
		s.save(b)
		return
	}
	if b.output == "" {
		s.run(b.text)
		return
	}
	// The output decides: a command may fail until there is something to show.
	commands, want := "{\n"+b.text+"} || true\n", outputPattern(b.output)
	printed := s.run(commands)
	for deadline := time.Now().Add(patience); !want.MatchString(printed); printed = s.run(commands) {
		if time.Now().After(deadline) {
			s.t.Fatalf("line %d: the commands\n%sprint\n%sand the page shows\n%s", b.line, b.text, printed, b.output)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// watch starts commands that do not end, and waits until they have printed the output of the
// block. If they end, so does the shell.
func (s *shell) watch(b block) {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = s.in.Close() })
	if _, err := io.WriteString(s.in, "{ {\n"+b.text+"} </dev/null || true; kill -9 0; } &\n"); err != nil {
		s.t.Fatal(err)
	}
	want := outputPattern(b.output)
	var printed strings.Builder
	for !want.MatchString(printed.String()) {
		line, err := s.out.ReadString('\n')
		printed.WriteString(line)
		if err != nil {
			s.t.Fatalf("line %d: the commands\n%sprint\n%sand the page shows\n%s", b.line, b.text, printed.String(), b.output)
		}
	}
	timer.Stop()
}

// save writes the file of a block.
func (s *shell) save(b block) {
	s.t.Helper()
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if b.adds {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(filepath.Join(s.folder, b.file), how, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := file.WriteString(b.text); err != nil {
		s.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		s.t.Fatal(err)
	}
}
