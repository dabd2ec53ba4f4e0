package membership_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// do runs one command as the default user and returns the answer as text.
func do(t *testing.T, dial dialFunc, args []string) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: dial, Protocol: 2, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	v, err := c.Do(t.Context(), list...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%v: %v", args, err)
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
