package redisfence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
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

// A Guard remembers the largest token of each resource in the Redis that it guards. It
// implements fence.Guard, but only Set, Del and scripts check and write in one step.
type Guard struct {
	// Client runs the scripts: a *redis.Client, a *redis.ClusterClient, or another.
	// Required.
	Client redis.Scripter
	// Key returns the key of a resource's token. Different resources need different
	// keys. Default: fence:{RESOURCE}.
	Key func(resource string) string
}

// Set sets key to value for ttl, in whole milliseconds, or without end if it is zero. It
// returns a *fence.StaleError if b's token is stale.
func (g Guard) Set(ctx context.Context, b fence.Bearer, key string, value any, ttl time.Duration) error {
	if ttl < 0 || ttl%time.Millisecond != 0 {
		return fmt.Errorf("redisfence: ttl %v: use whole milliseconds, 0 for ever", ttl)
	}
	_, err := setScript.Run(ctx, g, b, []string{key}, value, ttl.Milliseconds())
	return err
}

// Del deletes the keys and returns how many existed. It returns a *fence.StaleError if
// b's token is stale.
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

//go:embed guard.lua
var guardLua string

// A Script is Lua that runs in one step with the check of the token. It may be used by
// many goroutines.
type Script struct{ script *redis.Script }

// NewScript returns a Script of the given Lua. Its KEYS and ARGV do not contain those
// of the guard.
func NewScript(lua string) *Script {
	return &Script{script: redis.NewScript("local function write(KEYS, ARGV)\n" + lua + "\nend\n" + guardLua)}
}

// Run runs s and returns its reply, nil for nil. If b's token is stale, it does nothing
// and returns a *fence.StaleError.
func (s *Script) Run(ctx context.Context, g Guard, b fence.Bearer, keys []string, args ...any) (any, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	resource, token, err := fence.Of(b)
	if err != nil {
		return nil, err
	}
	keys = append([]string{g.key(resource)}, keys...)
	args = append([]any{strconv.FormatUint(uint64(token), 10)}, args...)
	reply, err := s.script.Run(ctx, g.Client, keys, args...).Slice()
	if err != nil {
		return nil, fmt.Errorf("writing to %s behind the fencing token: %w", resource, err)
	}
	admitted, payload, err := parse(reply)
	switch {
	case err != nil:
		return nil, fmt.Errorf("writing to %s behind the fencing token: %w", resource, err)
	case admitted:
		return payload, nil
	}
	seen, err := strconv.ParseUint(fmt.Sprint(payload), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the fencing guard of %s has seen %v, which is not a token", resource, payload)
	}
	return nil, fence.Refused(ctx, &fence.StaleError{Resource: resource, Token: token, Seen: locking.Token(seen)})
}

// parse reads the reply of guard.lua. The payload is missing if the script returned
// nil, and may be an error that the script returned instead of raising it.
func parse(reply []any) (admitted bool, payload any, err error) {
	if len(reply) == 0 {
		return false, nil, errors.New("the script returned nothing")
	}
	if len(reply) > 1 {
		payload = reply[1]
	}
	if failed, ok := payload.(error); ok {
		return false, nil, failed
	}
	return reply[0] == int64(1), payload, nil
}
