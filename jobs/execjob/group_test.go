//go:build linux || darwin

package execjob

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
)

// cancelOnce starts h, cancels it once file has been written, and returns the
// first text of the file and the error of h.
func cancelOnce(t *testing.T, h jobs.Handler, file string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- h(ctx, run) }()
	eventually(t, "the command to be ready", func() bool { return read(file) != "" })
	text := read(file)
	cancel(jobs.ErrTimeout)
	return text, <-done
}

func TestStubbornGroupIsKilled(t *testing.T) {
	t.Parallel()
	file := noteFile(t)
	h := bind(t, with(helperParams("stubborn", file), "kill_grace", "50ms"))
	group, err := cancelOnce(t, h, file)
	requireGone(t, group)
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Status != "signal: killed" || !errors.Is(err, jobs.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestGroupIsGoneBeforeTheRunEnds(t *testing.T) {
	t.Parallel()
	file := noteFile(t)
	group, _ := cancelOnce(t, bind(t, with(helperParams("heavy parent", file), "kill_grace", "1ms")), file)
	requireGone(t, group)
}

func TestGroupHasTimeToEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"careful", "careful parent"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			file := noteFile(t)
			_, err := cancelOnce(t, bind(t, with(helperParams(mode, file), "kill_grace", "1m")), file)
			if !errors.Is(err, jobs.ErrTimeout) {
				t.Errorf("got %v", err)
			}
			if got := read(file); got != "cleaned" {
				t.Errorf("the note says %q: it was killed before its grace was over", got)
			}
		})
	}
}

func TestLeftoversAreEnded(t *testing.T) {
	t.Parallel()
	file := noteFile(t)
	book := new(logBook)
	logged := run
	logged.Logger = book.logger()
	// The shell waits until its child has written the note, so there is one.
	params := helperParams("careless", file)
	params["command"] = []any{"sh", "-c", `"$0" && while [ ! -e "$EXECJOB_TEST_FILE" ]; do sleep 0.01; done`, params["command"].([]any)[0]}
	if err := bind(t, with(params, "kill_grace", "50ms"))(t.Context(), logged); err != nil {
		t.Fatal(err)
	}
	requireGone(t, read(file))
	if lines := book.lines(t); len(lines) != 1 || !strings.Contains(lines[0].Msg, "left behind") {
		t.Errorf("log: %v", lines)
	}
}

func TestDeserterDoesNotHoldTheRun(t *testing.T) {
	t.Parallel()
	file := noteFile(t)
	if err := bind(t, helperParams("deserter", file))(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(read(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process that left the group should live, and hold the pipe: %v", err)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(jobs.ErrDraining)
	file := noteFile(t)
	err := bind(t, shell("echo > "+file))(ctx, run)
	if !errors.Is(err, jobs.ErrDraining) || !strings.HasSuffix(err.Error(), "not started") || read(file) != "" {
		t.Errorf("got %v", err)
	}
}

// The replica here is another process, killed as the kernel's out-of-memory
// killer would: its command and the command's child both ignore SIGTERM.
func TestGroupEndsWithTheReplica(t *testing.T) {
	t.Parallel()
	file := noteFile(t)
	replica := helperCommand("replica", file)
	if err := replica.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the grandchild to be ready", func() bool { return read(file) != "" })
	group := read(file)
	if n := len(groupMembers(t, group)); n != 3 {
		t.Errorf("the group has %d members, want guard, command and its child", n)
	}
	if err := replica.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = replica.Wait()
	eventually(t, "the group to be gone", func() bool { return len(groupMembers(t, group)) == 0 })
}

// The guard must survive what is sent to its whole group, and end it when the
// pipe is closed, as the kernel does for a replica that dies.
func TestGuard(t *testing.T) {
	t.Parallel()
	g, err := newGroup()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		g.signal(sig)
	}
	if err := g.alive.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.guard.Wait() }()
	select {
	case err := <-done:
		if err == nil || err.Error() != "signal: killed" {
			t.Errorf("the guard ended with %v, want SIGKILL", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the guard outlives its pipe")
		_ = g.guard.Process.Kill()
		<-done
	}
}
