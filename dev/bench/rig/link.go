package rig

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Link is a way to a server on which replies take their time, or get lost.
type Link struct {
	target   string
	least    time.Duration // replies are late by at least this,
	spread   time.Duration // and a random time below this
	listener net.Listener
	ctx      context.Context // ends with the test
	hole     atomic.Bool
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newLink opens a way to the server at target, as long as the test.
func newLink(tb testing.TB, target string, least, spread time.Duration) *Link {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	l := &Link{target: target, least: least, spread: spread, listener: listener, ctx: ctx}
	l.wg.Go(l.accept)
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		l.breakAll()
		l.wg.Wait()
	})
	return l
}

// Addr returns host:port of the near end.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// BlackHole swallows what is sent from now on, in both directions, or no longer
// does; connections stay open.
func (l *Link) BlackHole(swallow bool) { l.hole.Store(swallow) }

func (l *Link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := (&net.Dialer{}).DialContext(l.ctx, "tcp", l.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		l.keep(near, far)
		replies := make(chan chunk, 1024)
		l.wg.Go(func() { l.forward(far, near) })
		l.wg.Go(func() { l.hold(far, replies) })
		l.wg.Go(func() { l.deliver(near, far, replies) })
	}
}

// A chunk is a part of the replies and when it arrives.
type chunk struct {
	at   time.Time
	data []byte
}

// forward carries requests.
func (l *Link) forward(far, near net.Conn) {
	defer func() { _ = far.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := near.Read(buf)
		if n > 0 && !l.hole.Load() {
			if _, err := far.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold says when replies arrive. The delay of one does not hold up those
// behind it for longer than its own: they are on the way at the same time.
func (l *Link) hold(far io.Reader, replies chan<- chunk) {
	defer close(replies)
	for {
		buf := make([]byte, 4<<10)
		n, err := far.Read(buf)
		if n > 0 && !l.hole.Load() {
			c := chunk{at: time.Now().Add(l.least), data: buf[:n]}
			if l.spread > 0 {
				c.at = c.at.Add(rand.N(l.spread))
			}
			replies <- c
		}
		if err != nil {
			return
		}
	}
}

// deliver carries replies, each when its time has come.
func (l *Link) deliver(near, far net.Conn, replies <-chan chunk) {
	defer func() {
		_, _ = near.Close(), far.Close()
		for range replies { // until hold has noticed
		}
	}()
	for c := range replies {
		if wait := time.Until(c.at); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := near.Write(c.data); err != nil {
			return
		}
	}
}

func (l *Link) keep(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conns...)
	if l.ctx.Err() != nil {
		for _, c := range conns {
			_ = c.Close()
		}
	}
}

func (l *Link) breakAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}
