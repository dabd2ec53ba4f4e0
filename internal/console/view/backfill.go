package view

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Planned returns the ticks that a backfill would run, oldest first, and the completed
// act. It computes them from the published schedule.
func (c Control) Planned(ctx context.Context, act acts.Act) ([]time.Time, acts.Act, error) {
	act.Kind = acts.Backfill
	name := act.Job
	c.Cache.Drop()
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
		return nil, act, &ImpossibleError{Msg: "the schedule of " + name + " is too long to be published: give the replicas' configuration with --config"}
	}
	ticks, err := plan(act, name, schedule, time.Now())
	return ticks, act, err
}

func plan(act acts.Act, name string, schedule schedule.Schedule, now time.Time) ([]time.Time, error) {
	if !act.From.Before(act.To) || !act.From.Before(now) {
		return nil, invalid("from %s to %s: write a range in the past whose start is before its end", shown(act.From), shown(act.To))
	}
	act.At = now
	switch ticks := act.Backfill(schedule); {
	case len(ticks) > acts.MaxBackfill:
		return nil, invalid("the range has more than %d ticks of %s: split it", acts.MaxBackfill, name)
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

// Backfill requests the backfill and returns the ticks that it will run.
func (c Control) Backfill(ctx context.Context, act acts.Act) ([]time.Time, error) {
	ticks, act, err := c.Planned(ctx, act)
	if err != nil {
		return nil, err
	}
	_, err = c.Acts.Do(ctx, act)
	return ticks, err
}
