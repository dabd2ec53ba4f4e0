// Package systemd tells systemd how a service is, in the protocol of sd_notify(3).
//
// It is no library because those read the environment at each message: here the variables
// are removed from it, so that the commands of jobs do not get them.
package systemd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookEvery is the pause between two looks at the readiness of a service.
const lookEvery = 500 * time.Millisecond

// A Service is the service that is reported.
type Service struct {
	// NotReady returns why the service does not work now. None: it is ready.
	NotReady func() []string
	// Alive returns whether the service's loop runs. It waits for the loop, so a loop that
	// hangs stops the watchdog's beats.
	Alive func() bool
	// Warn receives the first error.
	Warn func(error)
}

// Report reports until ended is closed. When ctx ends, the service begins to stop.
func (m *Manager) Report(ctx context.Context, s Service, ended <-chan struct{}) {
	if m == nil {
		return
	}
	r := reporter{Service: s, send: m.send}
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	var beats <-chan time.Time
	if m.watchdog > 0 {
		ticker := time.NewTicker(m.watchdog / 2)
		defer ticker.Stop()
		beats = ticker.C
	}
	r.report(ctx, looks.C, beats, ended)
}

// A reporter knows what it has reported.
type reporter struct {
	Service
	send func(lines ...string) error

	reported []string // the lines of the last state
	warned   bool
}

func (r *reporter) report(ctx context.Context, looks, beats <-chan time.Time, ended <-chan struct{}) {
	stop := ctx.Done()
	for {
		r.look(ctx.Err() != nil)
		select {
		case <-looks:
		case <-stop:
			stop = nil
		case <-beats:
			if r.Alive() {
				r.tell("WATCHDOG=1")
			}
		case <-ended:
			r.look(ctx.Err() != nil)
			return
		}
	}
}

// look reports what is new. What could not be sent stays new. A service that was ready once
// stays ready for systemd.
func (r *reporter) look(stopping bool) {
	reasons := r.NotReady()
	var state []string
	if len(reasons) == 0 || slices.Contains(r.reported, "READY=1") {
		state = append(state, "READY=1")
	}
	if stopping {
		state = append(state, "STOPPING=1")
	}
	status := cmp.Or(strings.ReplaceAll(strings.Join(reasons, "; "), "\n", " "), "taking ticks")
	state = append(state, "STATUS="+status)
	news := slices.DeleteFunc(slices.Clone(state), func(line string) bool { return slices.Contains(r.reported, line) })
	if len(news) > 0 && r.tell(news...) {
		r.reported = state
	}
}

// tell sends a message and returns whether that was possible.
func (r *reporter) tell(lines ...string) bool {
	err := r.send(lines...)
	if err != nil && !r.warned {
		r.warned = true
		r.Warn(fmt.Errorf("cannot report to systemd: %w; check NotifyAccess= and RestrictAddressFamilies= of the unit", err))
	}
	return err == nil
}

// sendTimeout bounds a message. systemd reads them at once.
const sendTimeout = time.Second

// A Manager is the systemd that started this process.
type Manager struct {
	socket   *net.UnixAddr
	watchdog time.Duration // 0: it expects no beats
}

// Take returns the manager that the environment names, nil if there is none, and removes
// its variables.
func Take() *Manager {
	take := func(name string) string {
		value := os.Getenv(name)
		_ = os.Unsetenv(name) // fails for impossible names only
		return value
	}
	socket, usec, pid := take("NOTIFY_SOCKET"), take("WATCHDOG_USEC"), take("WATCHDOG_PID")
	if socket == "" {
		return nil
	}
	m := &Manager{socket: unixgram(socket)}
	if n, err := strconv.ParseInt(usec, 10, 64); err == nil && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(n) * time.Microsecond
	}
	return m
}

// send sends one message with these lines.
func (m *Manager) send(lines ...string) error {
	conn, err := net.DialUnix(m.socket.Net, nil, m.socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // a datagram is sent or not
	if err := conn.SetDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(strings.Join(lines, "\n")))
	return err
}

func unixgram(path string) *net.UnixAddr { return &net.UnixAddr{Name: path, Net: "unixgram"} }
