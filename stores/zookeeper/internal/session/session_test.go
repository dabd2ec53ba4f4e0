package session

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/dev/testkit/servertest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A call that no server takes was not sent, whether there is no server or one that is silent. It
// asks all of them, ends with its context, and leaves nothing behind.
func TestNoServerTakesIt(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	nobody := "127.0.0.1:" + servertest.FreePort(t)
	c := New([]string{nobody, silent.Addr().String()}, func() (config.Login, error) { return config.Login{}, nil })
	defer c.Close()
	made := func(context.Context, *zk.Conn) (int, error) { return 1, nil }
	for range 4 { // it begins with either
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = Do(ctx, c, false, made)
		if !errors.Is(err, kv.ErrNotSent) {
			t.Errorf("Do = %v, want %v", err, kv.ErrNotSent)
		}
		cancel()
		if _, err = Do(ctx, c, true, made); !errors.Is(err, kv.ErrNotSent) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with an ended context: %v, want %v joined with its error", err, kv.ErrNotSent)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		sent bool
		want error
		away bool
	}{
		{t.Context(), zk.ErrNoAuth, true, zk.ErrNoAuth, false},
		{t.Context(), zk.ErrConnectionClosed, true, kv.ErrUnavailable, true},
		{t.Context(), zk.ErrNoServer, false, kv.ErrNotSent, true},
		{canceled, context.Canceled, true, context.Canceled, false},
		{late, context.DeadlineExceeded, true, context.DeadlineExceeded, true},
	} {
		err, away := judge(c.ctx, c.err, c.sent, "10.0.0.1:2181")
		if !errors.Is(err, c.want) || away != c.away || errors.Is(err, kv.ErrNotSent) == c.sent {
			t.Errorf("judge(%v, sent %v) = %v, %v, want %v, %v", c.err, c.sent, err, away, c.want, c.away)
		}
	}
}
