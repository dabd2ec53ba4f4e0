package difftest

import (
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Check runs random sequences of the actions that setup returns, on empty servers, and
// compares all sides after each.
func (b *Bench) Check(t *testing.T, setup func(rt *rapid.T) map[string]func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		b.Reset(rt, time.UnixMilli(1_800_000_000_000))
		actions := setup(rt)
		actions[""] = func(rt *rapid.T) { b.Compare(rt) }
		rt.Repeat(actions)
	})
}

// Advances is the action of a clock that advances, leaps, or is set back.
func (b *Bench) Advances(rt *rapid.T) {
	b.Advance(rt, rapid.OneOf(
		rapid.SampledFrom([]time.Duration{time.Millisecond, 500 * time.Millisecond, time.Second, 30 * time.Second, -time.Second}),
		rapid.SampledFrom([]time.Duration{Leap, Leap, 2 * Leap, -2 * Leap}),
	).Draw(rt, "by"))
}

// Loses is the action of a server restart: with its memory, without expiring data, or
// without all. Blank nodes may be formatted.
func (b *Bench) Loses(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"nothing", "nothing", "volatile", "all"}).Draw(rt, "memory") {
	case "volatile":
		b.LoseVolatile(rt)
	case "all":
		b.LoseAll(rt)
	}
	b.Restart(rt)
}

// Sample makes Check run a few fixed sequences, unless the command line sets
// -rapid.checks (how many) or -rapid.seed (0: random). TestMain calls it before the
// flags are parsed.
func Sample() {
	for name, value := range map[string]string{"rapid.checks": "50", "rapid.seed": "3", "rapid.nofailfile": "true", "rapid.shrinktime": "5s"} {
		_ = flag.Set(name, value) // rapid has these flags
	}
}
