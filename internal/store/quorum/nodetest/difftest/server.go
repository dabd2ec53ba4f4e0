package difftest

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed age.lua
var ageLua string

//go:embed drop.lua
var dropLua string

//go:embed dump.lua
var dumpLua string

// The clock of a server: scripts read it instead of TIME, and do not find that of INFO.
const (
	clockKey  = "clock"
	infoTime  = "'server_time_usec:'"
	noTime    = "'no clock'"
	askTime   = "redis.call('TIME')"
	lookClock = "redis.call('HMGET', 'clock', 'seconds', 'micros')"
)

func (s *side) setClock(t T, now time.Time) {
	t.Helper()
	s.do(t, "HSET", clockKey, "seconds", now.Unix(), "micros", now.Nanosecond()/1000)
}

// call runs a script with the virtual clock. It returns nil if the script failed.
func (s *side) call(t T, script Script, keys, args []string) []string {
	t.Helper()
	text := script.Source()
	if strings.Count(text, askTime) != 1 || strings.Count(text, infoTime) != 1 {
		t.Fatalf("script %s does not ask once for the time by %s and %s", script.Name(), infoTime, askTime)
	}
	text = strings.NewReplacer(askTime, lookClock, infoTime, noTime).Replace(text)
	argv := make([]any, len(args))
	for i, a := range args {
		argv[i] = a
	}
	v, err := redis.NewScript(text).Run(context.Background(), s.client, keys, argv...).StringSlice()
	if err != nil {
		if _, answered := errors.AsType[redis.Error](err); !answered {
			t.Fatalf("%s: script %s: %v", s.name, script.Name(), err)
		}
		return nil
	}
	return v
}

// run runs a script of this package.
func (s *side) run(t T, text string, keys []string, args ...any) []string {
	t.Helper()
	v, err := redis.NewScript(text).Run(context.Background(), s.client, keys, args...).StringSlice()
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return v
}

// stored returns all data of the server, as sorted lines.
func (s *side) stored(t T) []string {
	t.Helper()
	lines := s.run(t, dumpLua, nil, clockKey)
	for i, line := range lines { // an embedded server writes 1.8e+12
		if text, rest, _ := strings.Cut(strings.TrimPrefix(line, "score "), " "); strings.HasPrefix(line, "score ") {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			lines[i] = "score " + score(n) + " " + rest
		}
	}
	slices.Sort(lines)
	return lines
}
