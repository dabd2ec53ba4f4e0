package difftest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodetest"
)

// Step is how roughly the time left of a key is compared. The tests see to it
// that no key has about half a step more than some steps left.
const Step = 20_000 * time.Second

// stored returns all that a model stores, in the form that servers store it in.
func stored(s nodetest.State, now time.Time) []string {
	d := dump{now: float64(now.UnixMilli())}
	if s.Member != nil {
		d.member(*s.Member)
	}
	for key, t := range s.Texts {
		d.text(key, t)
	}
	for key, c := range s.Claims {
		d.claim(key, c)
	}
	for key, shares := range s.Shares {
		d.shares(key, shares)
	}
	for key, runs := range s.Runs {
		for _, r := range runs {
			d.add("score %s of %s %s runs out never", score(r.Tick), key, r.Record)
		}
	}
	for key, logs := range s.Logs {
		for name, log := range logs {
			d.field(key, name, log)
		}
	}
	for key, roster := range s.Rosters {
		for name, announced := range roster {
			d.field(key, name, announced)
		}
	}
	slices.Sort(d.lines)
	return d.lines
}

func score(tick float64) string { return strconv.FormatFloat(tick, 'f', 0, 64) }

type dump struct {
	now   float64
	lines []string
}

func (d *dump) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *dump) field(key, name, value string) {
	d.add("%s %s = %s runs out never", key, name, value)
}

// optional adds a field that is left out while it says nothing.
func (d *dump) optional(key, name, value string) {
	if value != "" {
		d.field(key, name, value)
	}
}

func (d *dump) text(key string, t nodetest.Text) {
	switch {
	case t.Expires == 0:
		d.add("%s = %s runs out never", key, t.Value)
	case d.now <= t.Expires:
		d.add("%s = %s runs out %d", key, t.Value, steps(t.Expires-d.now))
	}
}

func steps(left float64) int { return int(math.Round(left / float64(Step.Milliseconds()))) }

func (d *dump) member(m nodetest.Member) {
	for name, value := range map[string]string{
		"format": m.Format, "name": m.Name, "members": m.Members, "epoch": m.Epoch, "grace": m.Grace,
		"run_id": m.RunID, "since": m.Since, "embedded": m.Embedded, "names": m.Names,
	} {
		d.field(NodeKey, name, value)
	}
	for name, value := range map[string]string{
		"sealed_for": m.SealedFor, "sealed_names": m.SealedNames, "sealed_at": m.SealedAt,
		"gc_fence": m.GCFence, "gc_tick": m.GCTick,
	} {
		d.optional(NodeKey, name, value)
	}
	if m.Served {
		d.field(NodeKey, "served", "1")
	}
}

func (d *dump) claim(key string, c nodetest.Claim) {
	d.field(key, "fence", c.Fence)
	d.field(key, "stream", c.Stream)
	for stream, s := range c.Streams {
		for name, value := range map[string]string{
			"tick": s.Tick, "token": s.Token, "owner": s.Owner, "mode": s.Mode, "attempt": s.Attempt,
			"holder": s.Holder, "at": s.At, "done": s.DoneText(), "void": bit(s.Void),
		} {
			d.field(key, stream+"."+name, value)
		}
		d.optional(key, stream+".ranout", s.RanOut)
	}
}

func (d *dump) shares(key string, shares nodetest.Shares) {
	ends := "never"
	switch {
	case shares.Expires == 0:
	case d.now > shares.Expires:
		return
	default:
		ends = strconv.Itoa(steps(shares.Expires - d.now))
	}
	for place, s := range shares.Of {
		for name, value := range map[string]string{
			"owner": s.Owner, "until": score(s.Until), "token": s.Token, "attempt": s.Attempt,
			"mode": s.Mode, "holder": s.Holder, "at": s.At, "done": strings.TrimLeft(bit(s.Done), "0"),
		} {
			if value != "" {
				d.add("%s %s%s = %s runs out %s", key, place, name, value, ends)
			}
		}
	}
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Steps makes a time left comparable: in ms, or negative where there is none.
func Steps(left string) string {
	n, err := strconv.ParseFloat(left, 64)
	if err != nil || n < 0 {
		return left
	}
	return strconv.Itoa(steps(n)) + " steps"
}
