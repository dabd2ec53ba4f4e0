package redistest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/redistest"
)

// viaProxy returns a client of the server behind p that tries once.
func viaProxy(t *testing.T, p *redistest.Proxy) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: p.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProxyResetsAndAnswers(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Start(t).Addr())
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
	p := redistest.NewProxy(t, redistest.Start(t).Addr())
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
	p := redistest.NewProxy(t, redistest.Start(t).Addr())
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

func TestServerStartsWithWhatItsDiskHolds(t *testing.T) {
	t.Parallel()
	type step = func(s *redistest.Server)
	set := func(s *redistest.Server) { s.Client().Set(t.Context(), "k", "v", 0) }
	for name, tt := range map[string]struct {
		conf  []string
		steps []step
		want  string
	}{
		"append-only file, killed":   {[]string{"appendonly yes", "appendfsync always"}, []step{set, (*redistest.Server).Kill}, "v"},
		"append-only file, shutdown": {[]string{"appendonly yes"}, []step{set, (*redistest.Server).Shutdown}, "v"},
		"nothing, shutdown":          {nil, []step{set, (*redistest.Server).Shutdown}, ""},
		"snapshot before, killed":    {nil, []step{(*redistest.Server).Save, set, (*redistest.Server).Kill}, ""},
		"snapshot after, killed":     {nil, []step{set, (*redistest.Server).Save, (*redistest.Server).Kill}, "v"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Conf(tt.conf...))
			for _, step := range append(tt.steps, (*redistest.Server).Start) {
				step(s)
			}
			if got := s.Client().Get(t.Context(), "k").Val(); got != tt.want {
				t.Errorf("it holds %q, want %q", got, tt.want)
			}
		})
	}
}
