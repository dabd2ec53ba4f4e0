package redisfence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/fencetest"
	"github.com/quorate/quorate/locking/fence/redisfence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func claim(resource string, token locking.Token) locking.Claim {
	return locking.Claim{Name: resource, Token: token}
}

// sink keeps a resource's value under a key beside the guard's.
type sink struct {
	redisfence.Guard
	client *redis.Client
}

func (s sink) Write(ctx context.Context, b fence.Bearer, value string) error {
	if b == nil {
		return s.Set(ctx, nil, "nobody", value, 0)
	}
	resource, _ := b.Fence()
	return s.Set(ctx, b, "value:{"+resource+"}", value, 0)
}

func (s sink) Read(ctx context.Context, resource string) (string, error) {
	value, err := s.client.Get(ctx, "value:{"+resource+"}").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

func TestConformance(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	fencetest.Run(t, func(tb testing.TB) fencetest.Sink {
		tb.Helper()
		if err := client.FlushDB(tb.Context()).Err(); err != nil {
			tb.Fatal(err)
		}
		return sink{redisfence.Guard{Client: client}, client}
	})
}

func TestSetAndDel(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	guard := redisfence.Guard{Client: client}
	run := claim("job", 7)
	if err := guard.Set(t.Context(), run, "brief", "x", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := guard.Set(t.Context(), run, "lasting", 5, 0); err != nil {
		t.Fatal(err)
	}
	if left := client.PTTL(t.Context(), "brief").Val(); left <= 0 || left > time.Hour {
		t.Errorf("brief lives for %v more", left)
	}
	for _, key := range []string{"lasting", "fence:{job}"} {
		if left := client.PTTL(t.Context(), key).Val(); left >= 0 {
			t.Errorf("%s lives for %v only", key, left)
		}
	}
	if n, err := guard.Del(t.Context(), claim("job", 6), "brief", "lasting"); n != 0 || !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale delete: %d, %v", n, err)
	}
	if n, err := guard.Del(t.Context(), run, "brief", "lasting", "absent"); n != 2 || err != nil {
		t.Errorf("delete: %d, %v", n, err)
	}
	for _, ttl := range []time.Duration{-time.Second, time.Microsecond} {
		if err := guard.Set(t.Context(), run, "k", "v", ttl); err == nil {
			t.Errorf("ttl %v is accepted", ttl)
		}
	}
}

// A user's script gets its own keys and arguments, runs after the check, and returns any
// value.
func TestScript(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	guard := redisfence.Guard{Client: client}
	for name, tt := range map[string]struct {
		lua  string
		want any
		err  string
	}{
		"keys and arguments": {"return #KEYS .. KEYS[1] .. KEYS[2] .. #ARGV .. ARGV[1]", "2ab1x", ""},
		"number":             {"return redis.call('INCR', KEYS[1])", int64(1), ""},
		"nil":                {"return nil", nil, ""},
		"nothing":            {"local x = 1", nil, ""},
		"error returned":     {"return redis.error_reply('MINE no')", nil, "MINE no"},
		"error raised":       {"return redis.call('NOSUCH')", nil, "nknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisfence.NewScript(tt.lua)
			got, err := s.Run(t.Context(), guard, claim(name, 7), []string{"a", "b"}, "x")
			if got != tt.want || (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, tt.want, tt.err)
			}
			if got, err := s.Run(t.Context(), guard, claim(name, 6), []string{"a", "b"}, "x"); got != nil || !errors.Is(err, fence.ErrStale) {
				t.Errorf("a stale run: %v, %v", got, err)
			}
		})
	}
}

// A script that fails halfway has written; nothing older may follow it.
func TestFailedScriptCountsAsSeen(t *testing.T) {
	t.Parallel()
	guard := redisfence.Guard{Client: redistest.Start(t).Client()}
	half := redisfence.NewScript("redis.call('SET', KEYS[1], 'half') return redis.call('NOSUCH')")
	if _, err := half.Run(t.Context(), guard, claim("job", 7), []string{"k"}); err == nil {
		t.Fatal("the script should fail")
	}
	if err := guard.Admit(t.Context(), claim("job", 6)); !errors.Is(err, fence.ErrStale) {
		t.Errorf("an older writer follows: %v", err)
	}
	if err := guard.Admit(t.Context(), claim("job", 7)); err != nil {
		t.Errorf("the same run may not go on: %v", err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	guard := redisfence.Guard{Client: client, Key: func(resource string) string { return "{tenant}:mark:" + resource }}
	if err := guard.Admit(t.Context(), claim("job", 1<<53-1)); err != nil {
		t.Fatal(err)
	}
	if got := client.Get(t.Context(), "{tenant}:mark:job").Val(); got != "9007199254740991" {
		t.Errorf("the guard's key holds %q", got)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	if err := (redisfence.Guard{}).Admit(t.Context(), claim("job", 7)); err == nil || !strings.Contains(err.Error(), "no Client") {
		t.Errorf("without a client: %v", err)
	}
	client := redistest.Start(t).Client()
	client.Set(t.Context(), "fence:{job}", "somebody's text", 0)
	err := redisfence.Guard{Client: client}.Admit(t.Context(), claim("job", 7))
	if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "fence:{job} holds no token") {
		t.Errorf("a foreign value in the guard's key: %v", err)
	}
}
