// Package difftest runs the same operations on the plain model of a node, a real server
// and an embedded one. It compares every answer, and all stored data afterwards. Import
// it only in tests.
//
// All use a virtual clock: scripts read a key instead of calling TIME, and expiries are
// moved along with the clock. So a sequence of operations has one outcome, however slow
// the machine. Only the time left of a key is compared roughly; the tests use leases of
// days.
package difftest

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// NodeKey is the key of the node's own record.
const NodeKey = "q:node"

// A T fails one sequence of operations.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// A Bench holds servers, each with a model that should behave the same.
type Bench struct {
	sides []*side
	now   time.Time
}

type side struct {
	name             string
	client           *redis.Client
	model            *nodetest.Node
	infoError, runID string
}

// New starts the servers for the duration of the test.
func New(tb testing.TB) *Bench {
	tb.Helper()
	server, minis := redistest.Start(tb), redistest.MiniN(tb, 1)
	b := &Bench{sides: []*side{
		{name: "server", client: connect(tb, &redis.Options{Addr: server.Addr()})},
		{name: "embedded server", client: connect(tb, &redis.Options{Addr: "node-1:6379", Dialer: minis.Dial}), infoError: nodetest.Embedded},
	}}
	info := b.sides[0].client.InfoMap(tb.Context(), "server").Val()
	b.sides[0].runID = info["Server"]["run_id"]
	return b
}

// connect returns a client without timeouts and retries: a script must run once.
func connect(tb testing.TB, opts *redis.Options) *redis.Client {
	tb.Helper()
	opts.Protocol, opts.DisableIdentity = 2, true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout, opts.MaxRetries = time.Minute, -1, -1, -1
	c := redis.NewClient(opts)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Reset empties all sides and sets their clock.
func (b *Bench) Reset(t T, now time.Time) {
	t.Helper()
	b.now = now
	for _, s := range b.sides {
		s.model = nodetest.New(s.runID)
		s.model.InfoError = s.infoError
		s.do(t, "FLUSHALL")
		s.setClock(t, now)
	}
}

// Now returns the clock's reading.
func (b *Bench) Now() time.Time { return b.now }

// Advance moves the clock, also back. As on a real server, expiries are times of the
// clock.
func (b *Bench) Advance(t T, d time.Duration) {
	t.Helper()
	b.now = b.now.Add(d)
	for _, s := range b.sides {
		s.setClock(t, b.now)
		s.run(t, ageLua, nil, d.Milliseconds())
		s.model.Sweep(b.now) // expired data does not return with the clock
	}
}

// Do changes all sides without a script: the servers by a command, the models by a
// function.
func (b *Bench) Do(t T, model func(*nodetest.Node), command ...any) {
	t.Helper()
	for _, s := range b.sides {
		s.do(t, command...)
		model(s.model)
	}
}

// LoseAll deletes all data on all sides.
func (b *Bench) LoseAll(t T) {
	t.Helper()
	b.Do(t, func(n *nodetest.Node) { n.State = nodetest.Nothing() }, "FLUSHALL")
	for _, s := range b.sides {
		s.setClock(t, b.now)
	}
}

// LoseVolatile deletes expiring data on all sides.
func (b *Bench) LoseVolatile(t T) {
	t.Helper()
	for _, s := range b.sides {
		s.run(t, dropLua, nil)
		s.model.State = s.model.Lasting()
	}
}

// A Script is a rule with the text that servers run.
type Script interface {
	Name() string
	Source() string
}

// Call runs the script on all sides and compares the answers. Smooth, if not nil, first
// makes times left and unordered words comparable. Call returns the answer of the first
// side, nil if the script failed.
func (b *Bench) Call(t T, script Script, keys, args []string, smooth func([]string)) []string {
	t.Helper()
	var first []string
	for i, s := range b.sides {
		got := s.call(t, script, keys, args)
		want, err := s.model.Call(b.now, script.Name(), keys, args)
		if err != nil && !errors.Is(err, nodetest.ErrScript) {
			t.Fatalf("the model: %v", err)
		}
		if smooth != nil {
			smooth(got)
			smooth(want)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the %s answers %q,\nthe model %q (%v),\nto %s %q %q", s.name, got, want, err, script.Name(), keys, args)
		}
		if i == 0 {
			first = got
		}
	}
	return first
}

// Compare compares all stored data.
func (b *Bench) Compare(t T) {
	t.Helper()
	for _, s := range b.sides {
		got, want := s.stored(t), stored(s.model.State, b.now)
		if diff := difference(got, want); diff != "" {
			t.Fatalf("the %s and the model (-server +model) store:\n%s", s.name, diff)
		}
	}
}

// difference lists the lines that only one of two sorted lists has.
func difference(a, b []string) string {
	return strings.Join(append(missing("- ", a, b), missing("+ ", b, a)...), "\n")
}

// missing lists, marked, the lines of a that b has not.
func missing(mark string, a, b []string) []string {
	var list []string
	for _, line := range a {
		if _, ok := slices.BinarySearch(b, line); !ok {
			list = append(list, mark+line)
		}
	}
	return list
}

// Model returns the model of the first server.
func (b *Bench) Model() *nodetest.Node { return b.sides[0].model }

func (s *side) do(t T, command ...any) {
	t.Helper()
	if err := s.client.Do(context.Background(), command...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%s: %v: %v", s.name, command, err)
	}
}

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
