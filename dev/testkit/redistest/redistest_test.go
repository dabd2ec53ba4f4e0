package redistest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var pid int
	t.Run("inner", func(t *testing.T) {
		s := redistest.Start(t)
		s.Freeze() // also when it is stopped
		pid = s.PID()
	})
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d is still there", pid)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := s.Client()
	c.Set(t.Context(), "k", "v", 0)
	s.Restart(true)
	if v := c.Get(t.Context(), "k").Val(); v != "v" {
		t.Errorf("a restart that keeps the data left %q", v)
	}
	s.Restart(false)
	if n, err := c.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("a blank restart left %d keys (%v)", n, err)
	}
}

func TestMinisLiveByTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.MiniN(t, 2)
		defer m.Close()
		c := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
			ContextTimeoutEnabled: true,
			Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return m.Dial(ctx, network, "node-2:6379")
			},
		})
		defer c.Close()
		c.Set(t.Context(), "k", "v", time.Hour)
		time.Sleep(time.Hour - time.Second)
		if v := c.Get(t.Context(), "k").Val(); v != "v" {
			t.Errorf("before its time the key is %q", v)
		}
		time.Sleep(time.Second)
		if err := c.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("after its time: %v", err)
		}
		m.Stop(1)
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Error("a stopped node answers")
		}
		m.Start(1, true)
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Errorf("a started node: %v", err)
		}
	})
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
