package redisfence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

//go:embed guard.lua
var guardLua string

// A Script is Lua that runs behind the check of the token, in one step with it.
// It may be used by many goroutines.
type Script struct{ script *redis.Script }

// NewScript returns a Script of the given Lua, which finds its own KEYS and ARGV
// as any script does; the guard's are not among them.
func NewScript(lua string) *Script {
	return &Script{script: redis.NewScript("local function write(KEYS, ARGV)\n" + lua + "\nend\n" + guardLua)}
}

// Run runs s if b's token is not stale, and returns its reply: nil for nil. It
// returns a *fence.StaleError if the token is stale; then nothing was done.
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
		return nil, fmt.Errorf("the fencing guard of %s has seen %v, which is no token", resource, payload)
	}
	return nil, fence.Refused(ctx, &fence.StaleError{Resource: resource, Token: token, Seen: locking.Token(seen)})
}

// parse takes the reply of guard.lua apart. A script that returned nil leaves
// its place empty; an error that it returned, instead of raising it, is one.
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
