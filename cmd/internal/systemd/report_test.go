package systemd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A world is a service and the messages of its reporter, in virtual time.
type world struct {
	mu      sync.Mutex
	reasons []string
	hang    chan struct{} // nil: the loop answers
	alive   bool
	sent    []string
	sendErr error
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// service is the service of the world.
func (w *world) service() Service {
	return Service{
		NotReady: func() (reasons []string) {
			w.set(func() { reasons = w.reasons })
			return reasons
		},
		Alive: func() (alive bool) {
			var hang chan struct{}
			w.set(func() { alive, hang = w.alive, w.hang })
			if hang != nil {
				<-hang
			}
			return alive
		},
		Warn: func(err error) { w.set(func() { w.sent = append(w.sent, "warning: "+err.Error()) }) },
	}
}

func (w *world) send(lines ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sendErr == nil {
		w.sent = append(w.sent, strings.Join(lines, " "))
	}
	return w.sendErr
}

// run starts the reporter. drain ends its context, and end its service.
func (w *world) run(t *testing.T) (drain, end func()) {
	t.Helper()
	r := reporter{Service: w.service(), send: w.send}
	ctx, cancel := context.WithCancel(t.Context())
	ended, reported := make(chan struct{}), make(chan struct{})
	looks, beats := time.NewTicker(lookEvery), time.NewTicker(10*time.Second)
	go func() {
		defer close(reported)
		r.report(ctx, looks.C, beats.C, ended)
	}()
	return cancel, func() {
		cancel()
		close(ended)
		<-reported
	}
}

// after returns what was sent within d.
func (w *world) after(d time.Duration) []string {
	synctest.Wait()
	w.set(func() { w.sent = nil })
	time.Sleep(d)
	synctest.Wait()
	return w.all()
}

// all is what was sent lately.
func (w *world) all() (sent []string) {
	w.set(func() { sent = w.sent })
	return sent
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{reasons: []string{"node a abstains", "node b\nis down"}}
		drain, end := w.run(t)
		synctest.Wait()
		expect(t, "at the start", w.all(), "STATUS=node a abstains; node b is down")
		expect(t, "before the loop runs", w.after(time.Minute))

		w.set(func() { w.alive, w.reasons = true, nil })
		expect(t, "ready", w.after(5*time.Second), "READY=1 STATUS=taking ticks")
		expect(t, "alive", w.after(20*time.Second), "WATCHDOG=1", "WATCHDOG=1")
		w.set(func() { w.reasons = []string{"no quorum"} })
		expect(t, "not ready any more", w.after(time.Second), "STATUS=no quorum")

		w.set(func() { w.sent = nil })
		drain()
		synctest.Wait()
		expect(t, "a drain", w.all(), "STOPPING=1")
		expect(t, "alive in the drain", w.after(20*time.Second), "WATCHDOG=1", "WATCHDOG=1")
		end()
	})
}

// A loop that hangs gets no beats, and so is restarted.
func TestNoBeatsOfALoopThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{alive: true}
		_, end := w.run(t)
		expect(t, "alive", w.after(11*time.Second), "WATCHDOG=1")
		hang := make(chan struct{})
		w.set(func() { w.hang = hang })
		expect(t, "hangs", w.after(time.Hour))
		close(hang)
		synctest.Wait()
		end()
	})
}

// A replica that stops at once has said so.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		_, end := w.run(t)
		synctest.Wait()
		w.set(func() { w.sent = nil })
		end()
		expect(t, "at the end", w.all(), "STOPPING=1")
	})
}

// What could not be sent is sent later, and one warning says why it was late.
func TestSendAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{sendErr: errors.New("no such socket")}
		_, end := w.run(t)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if sent := w.all(); len(sent) != 1 || !strings.Contains(sent[0], "no such socket") {
			t.Errorf("warned %q, want once", sent)
		}
		w.set(func() { w.sendErr = nil })
		expect(t, "again", w.after(time.Second), "READY=1 STATUS=taking ticks")
		end()
	})
}

func TestTake(t *testing.T) {
	for _, tt := range []struct {
		socket, usec, pid string
		watchdog          time.Duration
	}{
		{"", "1000000", "", 0},
		{"/run/notify", "", "", 0},
		{"/run/notify", "1000000", "", time.Second},
		{"/run/notify", "1000000", "1", 0}, // of another process
	} {
		for name, value := range map[string]string{"NOTIFY_SOCKET": tt.socket, "WATCHDOG_USEC": tt.usec, "WATCHDOG_PID": tt.pid} {
			t.Setenv(name, value)
		}
		m := Take()
		if (m != nil) != (tt.socket != "") || m != nil && (m.watchdog != tt.watchdog || m.socket.Name != tt.socket) {
			t.Errorf("%+v: %+v", tt, m)
		}
		if again := Take(); again != nil {
			t.Errorf("%+v: the environment still names %v", tt, again)
		}
	}
}

// Without systemd nothing is reported, and nothing waits.
func TestNoManager(t *testing.T) {
	t.Parallel()
	(*Manager)(nil).Report(t.Context(), Service{}, nil)
}

func TestSendToNobody(t *testing.T) {
	t.Parallel()
	m := Manager{socket: unixgram(filepath.Join(t.TempDir(), "socket"))}
	if err := m.send("READY=1"); err == nil {
		t.Error("a message to a socket that is not there was sent")
	}
}
