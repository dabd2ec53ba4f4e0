package acts

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
)

// reserveTries bounds how often an instant is requested that others want too.
const reserveTries = 30

// spread is the range of the random step to another instant after a conflict.
const spread = 16

// A reservation is an instant for an act, or the act if it is known already.
type reservation struct {
	at       time.Time
	by       string
	known    *value
	hasPause bool // the line may have a pause or resume
}

// reserve finds an instant after all others of the act's line.
func (a *Acts) reserve(ctx context.Context, doing string, act acts.Act) (reservation, error) {
	r := reservation{by: crand.Text(), at: a.clock()}
	for range reserveTries {
		answers, err := a.askFor(ctx, doing, act, r)
		if err != nil {
			return r, err
		}
		r.known, r.hasPause = answers.known, answers.hasPause || answers.ok < a.set.Len()
		minority := a.set.Len() - a.set.Quorum()
		switch {
		case answers.other > minority:
			return r, &acts.ReusedIDError{ID: act.ID}
		case r.known != nil, answers.ok >= a.set.Quorum():
			return r, nil
		case answers.full > minority:
			return r, a.full(act)
		}
		r.at = time.UnixMilli(max(answers.last, r.at.UnixMilli()) + 1 + rand.Int64N(spread)).UTC()
	}
	return r, fmt.Errorf("%s: %w: too many concurrent requests; try again", doing, locking.ErrSplit)
}

// full is the error for one act too many.
func (a *Acts) full(act acts.Act) error {
	most, _ := a.limit(act).(int)
	return acts.TooMany(act.Kind, most)
}

// limit is how many acts of this kind may be in force, "" for a resume, which has no
// limit.
func (a *Acts) limit(act acts.Act) any {
	switch {
	case act.Kind.Request():
		return act.Kind.Most(a.most)
	case act.Kind == acts.Pause:
		return a.pauses
	}
	return ""
}

// clock is the nodes' time: the local clock, corrected by the median offset.
func (a *Acts) clock() time.Time {
	ahead, _ := a.set.ClockOffset()
	return time.Now().Add(-ahead).Truncate(time.Millisecond).UTC()
}

// asked counts the answers to a reservation.
type asked struct {
	ok, full, other int
	last            int64
	known           *value
	hasPause        bool
}

func (a *Acts) askFor(ctx context.Context, doing string, act acts.Act, r reservation) (asked, error) {
	act.At = r.at
	replies, err := a.call(ctx, doing, a.lua.reserve, act.ID, register(act), lineOf(act), r.at.UnixMilli(), act.Last().UnixMilli(),
		r.by, a.hold().Milliseconds(), act.Fingerprint(), a.limit(act))
	if err != nil {
		return asked{}, err
	}
	var all asked
	for _, reply := range replies {
		if err := all.add(reply); err != nil {
			return asked{}, fmt.Errorf("%s: %s: %w", doing, reply.Node, err)
		}
	}
	return all, nil
}

func (a *asked) add(r membership.Reply) error {
	switch r.Code {
	case "OK":
		a.ok++
		a.hasPause = a.hasPause || r.Arg(0) == "1"
	case "OTHER":
		a.other++
	case "FULL":
		a.full++
	case "LAST":
		a.last = max(a.last, r.Int(0))
	case "HAVE":
		v, err := parseValue(r.Arg(0))
		a.known = &v
		return err
	}
	return nil
}

// hold is how long an instant stays reserved: somewhat longer than both rounds.
func (a *Acts) hold() time.Duration { return 4*a.set.Timeout() + time.Second }

// take makes the request open, at its reserved instant.
func (a *Acts) take(ctx context.Context, doing string, act acts.Act, by string) (acts.Act, error) {
	v, err := newValue(act)
	if err != nil {
		return acts.Act{}, err
	}
	replies, err := a.call(ctx, doing, a.lua.take, register(act), v.String(), by, a.keep)
	if err != nil {
		return acts.Act{}, fmt.Errorf("%w; it may still be done: check quorate audit before you retry", err)
	}
	ok := 0
	for _, r := range replies {
		if r.Code == "OK" {
			ok++
		}
	}
	switch {
	case ok >= a.set.Quorum():
	case a.set.OneStore():
		return acts.Act{}, fmt.Errorf("%s: %w in time; it may still be done: check quorate audit before you retry", doing, a.set.Silence())
	default:
		return acts.Act{}, fmt.Errorf("%s: %w: %d of %d nodes took it in time; it may still be done: check quorate audit before you retry",
			doing, locking.ErrNoQuorum, ok, a.set.Len())
	}
	return act, nil
}
