package redisacts

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// reserveTries bounds how often an instant is asked for that somebody else is
// asking for, too.
const reserveTries = 30

// spread is how far apart those go who have met.
const spread = 16

// A reservation is an instant that an act may have, unless it is known already.
type reservation struct {
	at       time.Time
	by       string
	known    *value
	standing bool // the line may have a pause or resume
}

// reserve finds an instant that comes after all others of the act's line.
func (a *Acts) reserve(ctx context.Context, doing string, act scheduler.Act) (reservation, error) {
	r := reservation{by: crand.Text(), at: a.clock()}
	for range reserveTries {
		answers, err := a.askFor(ctx, doing, act, r)
		if err != nil {
			return r, err
		}
		r.known, r.standing = answers.known, answers.standing || answers.ok < a.set.Len()
		minority := a.set.Len() - a.set.Quorum()
		switch {
		case answers.other > minority:
			return r, &scheduler.ReusedIDError{ID: act.ID}
		case r.known != nil, answers.ok >= a.set.Quorum():
			return r, nil
		case answers.full > minority:
			return r, a.full(act)
		}
		r.at = time.UnixMilli(max(answers.last, r.at.UnixMilli()) + 1 + rand.Int64N(spread)).UTC()
	}
	return r, fmt.Errorf("%s: %w: too many ask for the same at once; ask again", doing, locking.ErrSplit)
}

// full is the error for one act too many.
func (a *Acts) full(act scheduler.Act) error {
	if act.Kind == scheduler.ActPause {
		return scheduler.TooManyPauses(a.pauses)
	}
	return scheduler.TooManyActs(act.Kind, a.most)
}

// room is how many acts like this one may be in force, "" if there is no bound: a
// resume always goes.
func (a *Acts) room(act scheduler.Act) any {
	switch {
	case act.Kind.Request():
		return a.most
	case act.Kind == scheduler.ActPause:
		return a.pauses
	}
	return ""
}

// clock is the time of the nodes: the own, put right by the median offset.
func (a *Acts) clock() time.Time {
	var offsets []time.Duration
	for _, by := range a.set.Offsets() {
		offsets = append(offsets, by)
	}
	now := time.Now()
	if len(offsets) > 0 {
		slices.Sort(offsets)
		now = now.Add(offsets[(len(offsets)-1)/2])
	}
	return now.Truncate(time.Millisecond).UTC()
}

// asked is what the nodes say to a reservation.
type asked struct {
	ok, full, other int
	last            int64
	known           *value
	standing        bool
}

func (a *Acts) askFor(ctx context.Context, doing string, act scheduler.Act, r reservation) (asked, error) {
	act.At = r.at
	replies, err := a.call(ctx, doing, a.lua.reserve, act.ID, register(act), lineOf(act), r.at.UnixMilli(), act.Last().UnixMilli(),
		r.by, a.hold().Milliseconds(), act.Fingerprint(), a.room(act))
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

func (a *asked) add(r nodes.Reply) error {
	switch r.Code {
	case "OK":
		a.ok++
		a.standing = a.standing || r.Arg(0) == "1"
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

// hold is how long an instant stays reserved: the time of both rounds, and
// somewhat more.
func (a *Acts) hold() time.Duration { return 4*a.set.Timeout() + time.Second }

// take makes the request open, at the instant that was reserved for it.
func (a *Acts) take(ctx context.Context, doing string, act scheduler.Act, by string) (scheduler.Act, error) {
	v, err := newValue(act)
	if err != nil {
		return scheduler.Act{}, err
	}
	replies, err := a.call(ctx, doing, a.lua.take, register(act), v.String(), by, a.keep)
	if err != nil {
		return scheduler.Act{}, fmt.Errorf("%w; it may be done all the same: see quorate audit before you ask again", err)
	}
	ok := 0
	for _, r := range replies {
		if r.Code == "OK" {
			ok++
		}
	}
	if ok < a.set.Quorum() {
		return scheduler.Act{}, fmt.Errorf("%s: %w: %d of %d nodes took it in time; it may be done all the same: see quorate audit before you ask again",
			doing, locking.ErrNoQuorum, ok, a.set.Len())
	}
	return act, nil
}
