//go:build unix

package top

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Codes that save the screen, hide the cursor and cut long lines, and that undo it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// A screen is a terminal in full-screen mode.
type screen struct {
	in, out *os.File
	keyed   bool // in is also a terminal

	saved   *term.State // of in
	stop    *os.File    // closing it ends the goroutine that reads keys
	done    chan struct{}
	signals chan os.Signal
	wg      sync.WaitGroup
}

// openScreen returns the terminal of in and out; false if out is not a terminal, or
// cannot move its cursor.
func openScreen(in io.Reader, out io.Writer) (*screen, bool) {
	o, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(o.Fd())) {
		return nil, false
	}
	i, ok := in.(*os.File)
	return &screen{in: i, out: o, keyed: ok && term.IsTerminal(int(i.Fd()))}, true
}

// open starts full-screen mode and returns the events of keys and signals.
func (s *screen) open() (<-chan event, error) {
	events := make(chan event)
	s.done, s.signals = make(chan struct{}), make(chan os.Signal, 4)
	if s.keyed {
		var err error
		if s.saved, err = term.GetState(int(s.in.Fd())); err != nil {
			return nil, fmt.Errorf("cannot read the terminal's settings: %w; try --once", err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.stop = w
		s.wg.Go(func() { s.readKeys(r, events) })
	}
	signal.Notify(s.signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGHUP)
	s.wg.Go(func() { s.readSignals(events) })
	if err := s.enter(); err != nil {
		s.close()
		return nil, err
	}
	return events, nil
}

// close restores the terminal and ends the goroutines.
func (s *screen) close() {
	_ = s.leave() // the terminal may be gone
	signal.Stop(s.signals)
	close(s.done)
	if s.stop != nil {
		_ = s.stop.Close()
	}
	s.wg.Wait()
}

// enter starts full-screen mode. It may be repeated.
func (s *screen) enter() error {
	if s.saved != nil {
		if _, err := term.MakeRaw(int(s.in.Fd())); err != nil {
			return fmt.Errorf("cannot change the terminal's settings: %w; try --once", err)
		}
	}
	_, err := io.WriteString(s.out, enterScreen)
	return err
}

func (s *screen) leave() error {
	_, err := io.WriteString(s.out, leaveScreen)
	if s.saved != nil {
		err = errors.Join(err, term.Restore(int(s.in.Fd()), s.saved))
	}
	return err
}

// suspend stops the process, as Ctrl-Z does, and re-enters when it is continued.
func (s *screen) suspend() error {
	if err := s.leave(); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	return s.enter()
}

// size returns the terminal's width and height.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// draw replaces the lines at once, so nothing flickers. It clears each line before it
// writes it: clearing after a line of full width would delete its last character.
func (s *screen) draw(lines []string) error {
	text := "\x1b[H\x1b[K" + strings.Join(lines, "\r\n\x1b[K")
	if _, height := s.size(); len(lines) < height {
		text += "\r\n\x1b[J"
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// restOfKey is how long the rest of a key may take. Escape alone is also the start of other
// keys.
const restOfKey = 50 * time.Millisecond

// readKeys reads keys until the pipe of stop is closed.
func (s *screen) readKeys(stop *os.File, events chan<- event) {
	defer func() { _ = stop.Close() }()
	wait := []unix.PollFd{{Fd: int32(s.in.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd()), Events: unix.POLLIN}}
	buffer := make([]byte, 64)
	var rest []byte // of a key whose end is not read yet
	for {
		timeout := -1
		if len(rest) > 0 {
			timeout = int(restOfKey.Milliseconds())
		}
		ready, err := unix.Poll(wait, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || wait[1].Revents != 0:
			return
		case ready == 0: // it has no rest
			if string(rest) == "\x1b" {
				s.send(events, event{eventKey, keyEscape})
			}
			rest = nil
			continue
		}
		n, err := unix.Read(int(s.in.Fd()), buffer)
		if err != nil && (errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN)) {
			continue
		}
		if err != nil || n == 0 { // the terminal is gone
			s.send(events, event{kind: eventQuit})
			return
		}
		var keys []key
		keys, rest = keysOf(append(rest, buffer[:n]...))
		for _, k := range keys {
			s.send(events, event{eventKey, k})
		}
	}
}

func (s *screen) readSignals(events chan<- event) {
	for {
		select {
		case sig := <-s.signals:
			s.send(events, event{kind: map[os.Signal]eventKind{
				syscall.SIGWINCH: eventResize, syscall.SIGTSTP: eventStop, syscall.SIGCONT: eventContinue, syscall.SIGHUP: eventQuit,
			}[sig]})
		case <-s.done:
			return
		}
	}
}

func (s *screen) send(events chan<- event, e event) {
	select {
	case events <- e:
	case <-s.done:
	}
}
