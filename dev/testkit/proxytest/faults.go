package proxytest

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// ResetReplies resets the connection (RST, not FIN) after n bytes of the next
// reply.
func (p *Proxy) ResetReplies(n int) { p.set(mode{fault: reset, bytes: n}) }

// Answer answers every request with the given line of the Redis protocol, such
// as "-LOADING Redis is loading the dataset in memory", and forwards none.
func (p *Proxy) Answer(line string) { p.set(mode{fault: answer, answer: line + "\r\n"}) }

// A hook is called before requests that hold a text.
type hook struct {
	text []byte
	do   func()
}

// OnRequest calls do once, before the first request that holds the text is
// forwarded; all such requests wait until do has returned.
func (p *Proxy) OnRequest(text string, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook{text: []byte(text), do: sync.OnceFunc(do)}
}

func (p *Proxy) runHook(chunk []byte) {
	p.mu.Lock()
	h := p.hook
	p.mu.Unlock()
	if h.do != nil && bytes.Contains(chunk, h.text) {
		h.do()
	}
}

// reset forwards n bytes and ends the connection so that the rest is lost.
func (c *passage) reset(chunk []byte, n int) ([]byte, error) {
	if tcp, ok := c.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that has gone is reset already
	}
	return chunk[:min(n, len(chunk))], errCut
}

// answer answers the requests that are complete.
func (c *passage) answer(chunk []byte, line string) error {
	c.partial = append(c.partial, chunk...)
	for {
		n := request(c.partial)
		if n == 0 {
			return nil
		}
		c.partial = c.partial[n:]
		if _, err := io.WriteString(c.client, line); err != nil {
			return err
		}
	}
}

// request returns the length of the first request in b, an array of bulk
// strings; 0 if it is not complete.
func request(b []byte) int {
	count, at, ok := number(b, 0, "*")
	for range count {
		var size int
		if size, at, ok = number(b, at, "$"); !ok {
			return 0
		}
		at += size + len("\r\n")
	}
	if !ok || at > len(b) {
		return 0
	}
	return at
}

// number reads a line of a sign and a number, and returns where the next begins.
func number(b []byte, at int, sign string) (n, next int, ok bool) {
	if at > len(b) {
		return 0, 0, false
	}
	line, _, found := bytes.Cut(b[at:], []byte("\r\n"))
	digits, signed := strings.CutPrefix(string(line), sign)
	n, err := strconv.Atoi(digits)
	return n, at + len(line) + len("\r\n"), found && signed && err == nil
}
