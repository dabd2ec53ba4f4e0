// Package systemd tells systemd how a service is, in the protocol of sd_notify(3).
//
// It is no library because those read the environment at each message: here the variables
// are removed from it, so that the commands of jobs do not get them.
package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

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
