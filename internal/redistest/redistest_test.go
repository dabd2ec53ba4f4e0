package redistest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/internal/redistest"
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

func TestProxyDelaysAndDrops(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
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

func TestProxySwallowsSomeConnections(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Start(t).Addr())
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
