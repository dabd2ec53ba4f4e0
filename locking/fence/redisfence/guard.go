package redisfence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking/fence"
)

//go:embed set.lua
var setLua string

//go:embed del.lua
var delLua string

var (
	setScript   = NewScript(setLua)
	delScript   = NewScript(delLua)
	admitScript = NewScript("return true")
)

// A Guard remembers the largest token of each resource in the Redis that it
// guards. It is a fence.Guard, but check and write are one step only in Set, Del
// and scripts.
type Guard struct {
	// Client of the Redis: a *redis.Client, a *redis.ClusterClient, or another
	// that runs scripts. Required.
	Client redis.Scripter
	// Key names the key that keeps a resource's token. Different resources need
	// different keys. Default: fence:{RESOURCE}.
	Key func(resource string) string
}

// Set sets key to value if b's token is not stale, for ttl in whole
// milliseconds or, if that is zero, for ever. It returns a *fence.StaleError if
// the token is stale.
func (g Guard) Set(ctx context.Context, b fence.Bearer, key string, value any, ttl time.Duration) error {
	if ttl < 0 || ttl%time.Millisecond != 0 {
		return fmt.Errorf("redisfence: ttl %v: use whole milliseconds, 0 for ever", ttl)
	}
	_, err := setScript.Run(ctx, g, b, []string{key}, value, ttl.Milliseconds())
	return err
}

// Del deletes the keys if b's token is not stale, and returns how many there
// were. It returns a *fence.StaleError if the token is stale.
func (g Guard) Del(ctx context.Context, b fence.Bearer, keys ...string) (int64, error) {
	reply, err := delScript.Run(ctx, g, b, keys)
	deleted, _ := reply.(int64)
	return deleted, err
}

// Admit remembers b's token or refuses it, as a fence.Guard does.
func (g Guard) Admit(ctx context.Context, b fence.Bearer) error {
	_, err := admitScript.Run(ctx, g, b, nil)
	return err
}

func (g Guard) key(resource string) string {
	if g.Key != nil {
		return g.Key(resource)
	}
	return "fence:{" + resource + "}"
}

func (g Guard) validate() error {
	if g.Client == nil {
		return errors.New("redisfence: the guard has no Client")
	}
	return nil
}
