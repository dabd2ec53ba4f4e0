package membership_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// TestMain fails if goroutines are left, or if go-redis has written to its
// logger, which by default is standard error.
func TestMain(m *testing.M) {
	var noise recorder
	redis.SetLogger(&noise)
	difftest.Sample()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if text := noise.String(); text != "" {
			fmt.Fprintln(os.Stderr, "go-redis logged:", text)
			code = 1
		}
		os.Exit(code)
	}))
}

// A recorder keeps what go-redis logs.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Printf(_ context.Context, format string, v ...any) {
	// It logs always what Sentinels say, and that a connection which is returned was closed meanwhile.
	if strings.HasPrefix(format, "sentinel: ") || strings.HasPrefix(format, "Unexpected conn[%d] state changed by hook") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, v...))
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// config returns a Config for the URLs, changed by the given functions. Its
// timeout is long, for machines that are busy with something else.
func config(urls []string, change ...func(*membership.Config)) membership.Config {
	c := membership.Config{Timeout: 3 * time.Second}
	for _, u := range urls {
		c.Nodes = append(c.Nodes, membership.NodeConfig{URL: u})
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func open(t *testing.T, c membership.Config) *membership.Set {
	t.Helper()
	s, err := membership.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A backend is a single node of some kind, for what must hold on all kinds.
type backend struct {
	config membership.Config
	// do sends a command past all restrictions.
	do func(t *testing.T, args ...string) string
}

// onEvery runs f on a real node, on one with the least privileged user, and on
// an embedded one.
func onEvery(t *testing.T, f func(t *testing.T, b backend)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		f(t, realBackend(redistest.Start(t)))
	})
	t.Run("acl", func(t *testing.T) {
		t.Parallel()
		f(t, realBackend(redistest.Start(t, redistest.ACL("quorate", "secret", membership.ACLRules("quorate")))))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, miniBackend(t))
	})
}

func realBackend(s *redistest.Server) backend {
	return backend{config: config([]string{s.URL()}), do: func(t *testing.T, args ...string) string {
		t.Helper()
		return do(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
		}, args)
	}}
}

func miniBackend(t *testing.T) backend {
	t.Helper()
	m := redistest.MiniN(t, 1)
	c := config(m.URLs(), embedded(m))
	return backend{config: c, do: func(t *testing.T, args ...string) string {
		t.Helper()
		return do(t, func(ctx context.Context, network, _ string) (net.Conn, error) {
			return m.Dial(ctx, network, "node-1:6379")
		}, args)
	}}
}

func embedded(m *redistest.Minis) func(*membership.Config) {
	return func(c *membership.Config) { c.Embedded, c.Dial = true, m.Dial }
}

// formatted returns the Set of the backend's config, declared as new.
func (b backend) formatted(t *testing.T) *membership.Set {
	t.Helper()
	s := open(t, b.config)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return s
}

// echo is a rule that answers with its key, its arguments and what it sees.
var echo = membership.NewScript("echo", `return {'ECHO', nowtext, KEYS[2] or '', num(floor), num(gracems), arg(1) or '', arg(2) or ''}`)

// put is a rule that writes.
var put = membership.NewScript("put", `redis.call('SET', KEYS[2], arg(1)) return {'OK', nowtext}`)

func call(t *testing.T, s *membership.Set, script *membership.Script, args ...any) membership.Reply {
	t.Helper()
	return s.Call(t.Context(), script, []string{s.Key("x")}, args...)[0]
}
