package proxytest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// viaProxy returns a client of the server behind p that tries once.
func viaProxy(t *testing.T, p *proxytest.Proxy) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: p.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProxyResetsAndAnswers(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, redistest.Start(t).Addr())
	c := viaProxy(t, p)
	c.Set(t.Context(), "k", strings.Repeat("v", 3000), 0)

	p.ResetReplies(2)
	if err := c.Get(t.Context(), "k").Err(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a reset reply is the error %v, want %v", err, syscall.ECONNRESET)
	}
	p.Answer("-LOADING not yet")
	for _, value := range []string{"short", strings.Repeat("long", 50_000)} {
		if err := c.Set(t.Context(), "k", value, 0).Err(); err == nil || err.Error() != "LOADING not yet" {
			t.Errorf("the proxy answered %v to a request of %d bytes", err, len(value))
		}
	}
	p.Pass()
	if n, err := c.StrLen(t.Context(), "k").Result(); err != nil || n != 3000 {
		t.Errorf("the server holds %d bytes (%v), want 3000", n, err)
	}
}

func TestProxyRunsAHookBeforeARequest(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, redistest.Start(t).Addr())
	c := viaProxy(t, p)
	seen := "not called"
	p.OnRequest("wanted", func() { seen = c.Get(t.Context(), "other").Val() })
	c.Set(t.Context(), "other", "before", 0)
	c.Set(t.Context(), "k", "wanted", 0)
	c.Set(t.Context(), "other", "after", 0)
	c.Set(t.Context(), "k", "wanted", 0)
	if seen != "before" {
		t.Errorf("the hook saw %q", seen)
	}
}

// A dial to a full backlog gets no answer, and is accepted when it is drained.
func TestProxyFillsItsBacklog(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, redistest.Start(t).Addr())
	for range 2 {
		if err := viaProxy(t, p).Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := p.FillBacklog(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr())
		cancel()
		if err == nil {
			conn.Close()
			t.Error("somebody got in")
		}
		p.Pass()
	}
	if err := viaProxy(t, p).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestProxyDelaysAndDrops(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := proxytest.New(t, s.Addr())
	c := redis.NewClient(&redis.Options{
		Addr: p.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	defer func() { _ = c.Close() }()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.DropReplies("unlucky")
	if err := c.Set(t.Context(), "k", "lucky", 0).Err(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Set(ctx, "k", "unlucky", 0).Err(); err == nil {
		t.Error("the reply came through")
	}
	p.Pass()
	if v := c.Get(t.Context(), "k").Val(); v != "unlucky" {
		t.Errorf("the request did not come through: %q", v)
	}
}

// What comes after a gap does not pass.
func TestProxyLeavesNoGap(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, redistest.Start(t).Addr())
	for name, spoil := range map[string]func(){
		"a black hole": p.BlackHole, "dropped replies": func() { p.DropReplies("") }, "swallowed requests": func() { p.Swallow("") },
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		say := func() error {
			conn.SetDeadline(time.Now().Add(time.Second))
			fmt.Fprint(conn, "PING\r\n")
			_, err := conn.Read(make([]byte, 100))
			return err
		}
		if err := say(); err != nil {
			t.Fatal(err)
		}
		spoil()
		if err := say(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		p.Pass()
		if err := say(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: after a gap the connection says %v, want that it is closed", name, err)
		}
	}
}

func TestProxySwallowsSomeConnections(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, redistest.Start(t).Addr())
	dial := func(first string) (say func(string) error) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		say = func(text string) error {
			conn.SetDeadline(time.Now().Add(time.Second))
			fmt.Fprintf(conn, "PING %s\r\n", text)
			_, err := conn.Read(make([]byte, 100))
			return err
		}
		if err := say(first); err != nil {
			t.Fatal(err)
		}
		return say
	}
	p.Swallow("nobody", "meant")
	meant, other := dial("other"), dial("other")
	for _, text := range []string{"meant", "other"} {
		if err := meant(text); err == nil {
			t.Error("a request came through on a connection that is meant")
		}
	}
	if err := other("other"); err != nil {
		t.Errorf("no request came through on another connection: %v", err)
	}
}
