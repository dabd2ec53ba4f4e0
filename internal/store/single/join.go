package single

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
)

// lookEvery is how long a replica hears nothing from the store until it looks.
const lookEvery = 5 * time.Second

// seen is what the last look of a replica has shown.
type seen struct {
	Look
	err error
}

// Join implements [store.Membership]. Whoever joins says when it is ready.
func (c *Cluster) Join(ctx context.Context) error {
	final := func(err error) bool { return errors.Is(err, kv.ErrNotReady) || errors.Is(err, kv.ErrLogin) }
	return store.Persist(ctx, c.log, "no job runs until the store answers; trying again until then", final, c.see)
}

// Watch implements [store.Membership].
func (c *Cluster) Watch(ctx context.Context) {
	c.watched = true
	for retry.Sleep(ctx, lookEvery/5) {
		if c.refresh(ctx); ctx.Err() == nil { // else the end of the replica has failed the look
			c.hour.Note(time.Now(), []health.State{c.state()})
		}
	}
}

// refresh looks at the store, unless its latest answers say that nothing has changed.
func (c *Cluster) refresh(ctx context.Context) {
	last := c.last.Load()
	if last != nil && last.err == nil && last.VouchesAt.IsZero() {
		if now, ok := c.Still(last.Look, lookEvery); ok { // commands are read all the time, and heartbeats written
			c.last.Store(&seen{Look: now})
			return
		}
	}
	_ = c.see(ctx) // NotReady tells it
}

// state is what the last look and the answers since have shown.
func (c *Cluster) state() health.State {
	last := c.last.Load() // of refresh at least
	return health.State{
		Node: c.Server.Name(), Up: last.err == nil || last.Incarnation != "", Votes: last.err == nil && !last.VouchesAt.After(time.Now()),
		Offset: last.Offset, RTT: last.RTT, Latest: last.RTT,
	}
}

// LastHour implements [store.Membership].
func (c *Cluster) LastHour(now time.Time) []health.Minute { return c.hour.Minutes(now) }

// see looks at the store once, writes to it, and says if that changes what is known.
func (c *Cluster) see(ctx context.Context) error {
	now := &seen{}
	if now.Look, now.err = c.Look(ctx); now.Unnoted {
		now.err = c.NoteIncarnation(ctx)
	}
	if now.err == nil {
		now.err = c.Probe(ctx, now.Look)
	}
	before := c.last.Swap(now)
	known := before != nil && before.err == nil
	switch {
	case now.err != nil:
		if known {
			c.log.Warn("the store cannot be used", "why", store.OneLine(now.err))
		}
	case known && before.VouchesAt.IsZero() == now.VouchesAt.IsZero():
	case now.VouchesAt.IsZero():
		if c.watched {
			c.log.Info("ready")
		}
	default:
		c.log.Warn("the store is new, or another server has taken over: no tick runs before " + jobs.FormatTick(now.VouchesAt.Round(0)) +
			", since it may not remember every claim; for a new store, run `quorate store init` before the first replica starts")
	}
	return now.err
}

// NotReady implements [store.Membership].
func (c *Cluster) NotReady() string {
	switch last := c.last.Load(); {
	case last == nil:
		return "waiting for the store: connecting to the store"
	case last.err != nil:
		return "waiting for the store: " + store.OneLine(last.err)
	case !last.VouchesAt.IsZero() && time.Now().Before(last.VouchesAt):
		return "waiting for the grace of the store: no tick runs before " + jobs.FormatTick(last.VouchesAt.Round(0))
	}
	return ""
}

// ClockOffset implements [store.Membership].
func (c *Cluster) ClockOffset() (time.Duration, bool) {
	last := c.last.Load()
	if last == nil || last.err != nil {
		return 0, false
	}
	return -last.Offset, true
}

// Still brings a look up to date if the store has answered lately, in the same incarnation. It must also
// have taken a write within three times as long, and no later write may have failed.
func (c *Cluster) Still(l Look, lately time.Duration) (Look, bool) {
	last, wrote := c.heard.last.Load(), c.heard.wrote.Load()
	if last == nil || time.Since(last.ended) > lately || last.stamp.Incarnation != l.Incarnation || wrote == nil || time.Since(*wrote) > 3*lately {
		return l, false
	}
	l.RTT, l.Offset = last.ended.Sub(last.began), last.offset()
	return l, true
}
