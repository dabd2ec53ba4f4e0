// Package proxytest gives tests a TCP proxy that spoils connections. Only tests import it.
package proxytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Proxy stands in front of a server and spoils what passes. What is set
// applies to open connections too, until Pass is called. Then a connection of which something was
// swallowed is closed before more passes: no network delivers what comes after a gap.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup
	ctx      context.Context // ends with the test
	cancel   context.CancelFunc

	mu      sync.Mutex
	target  string
	mode    mode
	hook    hook
	conns   map[net.Conn]bool
	backlog backlog
}

// A mode is what a Proxy does, and how.
type mode struct {
	fault    fault
	triggers []string // any of them
	delay    time.Duration
	bytes    int    // of a reply that pass
	answer   string // instead of a reply
	last     []byte // instead of a reply that is cut
}

// A fault is what a Proxy does to connections.
type fault int

const (
	none    fault = iota
	drop          // replies are swallowed
	cut           // the connection is closed instead of a reply
	hole          // all is swallowed
	swallow       // all of some connections is swallowed
	chop          // the connection is closed in the middle of a reply
	stall         // every reply is late
	reset         // the connection is reset in the middle of a reply
	answer        // the proxy answers by itself
)

// New starts a proxy before the server at target, as long as the test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &Proxy{listener: l, target: target, ctx: ctx, cancel: cancel, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Pass forwards everything again.
func (p *Proxy) Pass() {
	p.drainBacklog()
	p.set(mode{})
}

// DropReplies lets requests through and swallows the replies, from the first
// request on that holds the text; "" means from now on.
func (p *Proxy) DropReplies(text string) { p.set(mode{fault: drop, triggers: []string{text}}) }

// CutReplies lets requests through and closes the connection instead of
// replying, from the first request on that holds one of the texts.
func (p *Proxy) CutReplies(texts ...string) { p.set(mode{fault: cut, triggers: texts}) }

// LoseReplies is like CutReplies once, and says something before: what a pooler says that has lost the server.
func (p *Proxy) LoseReplies(text string, says []byte) {
	p.set(mode{fault: cut, triggers: []string{text}, last: says})
}

// ChopReplies closes the connection in the middle of a reply, from the first
// request on that holds the text.
func (p *Proxy) ChopReplies(text string) { p.set(mode{fault: chop, triggers: []string{text}}) }

// BlackHole accepts connections and requests, and forwards none.
func (p *Proxy) BlackHole() { p.set(mode{fault: hole}) }

// Swallow forwards nothing on connections from the first request on that holds one of the
// texts.
func (p *Proxy) Swallow(texts ...string) { p.set(mode{fault: swallow, triggers: texts}) }

// Delay holds every reply back for d.
func (p *Proxy) Delay(d time.Duration) { p.set(mode{fault: stall, delay: d}) }

// Target leads new connections to another server.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Break closes the open connections; new ones are served.
func (p *Proxy) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
}

func (p *Proxy) get() mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		switch {
		case err == nil:
			p.wg.Go(func() { p.serve(client) })
		case !p.waitBacklog(err):
			return
		}
	}
}

// serve forwards one connection in both directions.
func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.keep(client, server) {
		return
	}
	defer p.drop(client, server)
	c := &passage{proxy: p, client: client}
	requests := make(chan struct{})
	go func() {
		defer close(requests)
		c.pump(server, client, c.request)
		_ = server.Close()
	}()
	c.pump(client, server, c.reply)
	_ = client.Close()
	_ = server.Close()
	<-requests
}

// keep notes open connections, to be closed at the end.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.cancel()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.wg.Wait()
}

// A passage is one connection through the proxy.
type passage struct {
	proxy   *Proxy
	client  net.Conn
	partial []byte // of a request that the proxy answers by itself

	mu  sync.Mutex
	hit bool // a request held the text of a trigger
	gap bool // something was swallowed
}

var errCut = errors.New("cut")

// pump copies chunks, as filter changes them.
func (c *passage) pump(dst io.Writer, src io.Reader, filter func([]byte) ([]byte, error)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			chunk, cutErr := filter(buf[:n])
			if _, writeErr := dst.Write(chunk); writeErr != nil || cutErr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request notes whether the trigger was seen.
func (c *passage) request(chunk []byte) ([]byte, error) {
	c.proxy.runHook(chunk)
	m := c.proxy.get()
	if m.fault == answer {
		return nil, c.answer(chunk, m.answer)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hit = c.hit && m.fault != none || slices.ContainsFunc(m.triggers, func(text string) bool { return bytes.Contains(chunk, []byte(text)) })
	switch {
	case m.fault == hole, m.fault == swallow && c.hit:
		c.gap = true
		return nil, nil
	case m.fault != drop && c.gap:
		return nil, errCut
	}
	return chunk, nil
}

// reply does to replies what is set.
func (c *passage) reply(chunk []byte) ([]byte, error) {
	m := c.proxy.get()
	f := m.fault
	c.mu.Lock()
	hit := c.hit
	swallowed := f == hole || hit && (f == drop || f == swallow)
	c.gap = c.gap || swallowed
	gap := c.gap
	c.mu.Unlock()
	switch {
	case swallowed:
		return nil, nil
	case f != drop && gap:
		return nil, errCut
	case f == cut && hit && m.last != nil:
		c.proxy.Pass()
		return m.last, errCut
	case f == cut && hit:
		return nil, errCut
	case f == chop && hit:
		return chunk[:len(chunk)/2], errCut
	case f == stall:
		return c.late(chunk, m.delay)
	case f == reset:
		return c.reset(chunk, m.bytes)
	}
	return chunk, nil
}

// late waits, but not beyond the end of the test.
func (c *passage) late(chunk []byte, d time.Duration) ([]byte, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return chunk, nil
	case <-c.proxy.ctx.Done():
		return nil, errCut
	}
}
