package listing

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// Planned returns the ticks that a backfill of the act's job would run, oldest
// first, from what the replicas have published, and the act ready to be asked for.
func (c Control) Planned(ctx context.Context, act scheduler.Act) ([]time.Time, scheduler.Act, error) {
	act.Kind = scheduler.ActBackfill
	name := act.Job
	c.Kept.Drop()
	d, err := c.Directory(ctx)
	if err != nil {
		return nil, act, err
	}
	act.Job = d.Key(name)
	if err := d.Require(act.Job); err != nil {
		return nil, act, err
	}
	schedule, ok := c.schedule(d.Last[act.Job].JobInfo)
	if !ok {
		return nil, act, &ImpossibleError{Msg: "the schedule of " + name + " is too long to be published: use the configuration of the replicas with --config"}
	}
	ticks, err := plan(act, name, schedule, time.Now())
	return ticks, act, err
}

func plan(act scheduler.Act, name string, schedule scheduler.Schedule, now time.Time) ([]time.Time, error) {
	if !act.From.Before(act.To) || !act.From.Before(now) {
		return nil, invalid("from %s to %s: write a range of the past, the end after the start", shown(act.From), shown(act.To))
	}
	act.At = now
	switch ticks := act.Backfill(schedule); {
	case len(ticks) > scheduler.MaxBackfill:
		return nil, invalid("the range has more than %d ticks of %s: ask for parts of it", scheduler.MaxBackfill, name)
	case len(ticks) == 0:
		return nil, &ImpossibleError{Msg: "the schedule of " + name + " has no ticks in that range"}
	default:
		return ticks, nil
	}
}

func shown(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return *Stamp(t)
}

// Backfill asks for what Planned lists.
func (c Control) Backfill(ctx context.Context, act scheduler.Act) ([]time.Time, error) {
	ticks, act, err := c.Planned(ctx, act)
	if err != nil {
		return nil, err
	}
	_, err = c.Acts.Do(ctx, act)
	return ticks, err
}
