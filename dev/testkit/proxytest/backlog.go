package proxytest

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A backlog is what a listener holds that nobody accepts from.
type backlog struct {
	fillers []net.Conn
	resume  chan struct{} // closed when connections are accepted again; nil if they are
}

// FillBacklog makes the proxy a black hole for new connections, as a firewall
// that drops packets does: the SYN of whoever dials is never answered. Open
// connections are closed. Pass ends it. It needs Linux, where listening again
// changes the backlog.
func (p *Proxy) FillBacklog() error {
	p.mu.Lock()
	if p.backlog.resume != nil {
		p.mu.Unlock()
		return nil
	}
	p.backlog.resume = make(chan struct{})
	p.mu.Unlock()
	l := p.listener.(*net.TCPListener)
	if err := errors.Join(l.SetDeadline(time.Unix(1, 0)), listen(l, 0)); err != nil {
		return err
	}
	for {
		full, err := isFull(l)
		if full || err != nil {
			p.Break()
			return err
		}
		conn, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", p.Addr())
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.backlog.fillers = append(p.backlog.fillers, conn)
		p.mu.Unlock()
	}
}

// isFull reports whether the kernel drops who dials: of a socket that listens, it counts connections
// that wait as unacked, and gives the number that may wait as sacked (tcp_get_info in Linux).
func isFull(l *net.TCPListener) (bool, error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return false, err
	}
	var info *unix.TCPInfo
	err2 := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(err, err2); err != nil {
		return false, err
	}
	return info.Unacked > info.Sacked, nil
}

// drainBacklog lets connections in again.
func (p *Proxy) drainBacklog() {
	p.mu.Lock()
	b := p.backlog
	p.backlog = backlog{}
	p.mu.Unlock()
	if b.resume == nil {
		return
	}
	for _, c := range b.fillers {
		_ = c.Close()
	}
	l := p.listener.(*net.TCPListener)
	_ = errors.Join(listen(l, 128), l.SetDeadline(time.Time{})) // a closed listener needs neither
	close(b.resume)
}

// waitBacklog tells, after Accept has failed, whether to accept again, and
// waits until then.
func (p *Proxy) waitBacklog(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	p.mu.Lock()
	resume := p.backlog.resume
	p.mu.Unlock()
	if resume != nil {
		select {
		case <-resume:
		case <-p.ctx.Done():
			return false
		}
	}
	return true
}

// listen calls listen(2) once more on a socket that listens.
func listen(l *net.TCPListener, backlog int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	err2 := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), backlog) })
	return errors.Join(err, err2)
}
