package replica

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// manyJobs is from how many on the jobs of an update are counted, not listed.
const manyJobs = 20

// updated says what a reload has changed, in a line per job.
func (e events) updated(d scheduler.Diff) {
	e.each("job added", d.Added, nil)
	e.each("job changed", d.Changed, func(job string) []any {
		var names []string
		for _, s := range view.SettingChanges(d.Settings(job)) {
			names = append(names, s.Key)
		}
		return []any{"settings", names}
	})
	for _, r := range d.Renamed {
		e.log.Info("job renamed", "job", r.To, "formerly", r.From)
	}
	e.each("job removed", d.Removed, nil)
}

// forgotten says that nothing is left of a job, or why something is.
func (e events) forgotten(job string, served time.Time, err error) {
	if err != nil {
		e.log.Warn("job not forgotten: it is tried again", "job", job, "last_served", jobs.FormatTick(served), "error", oneLine(err))
		return
	}
	e.log.Info("job forgotten: nobody has served it for scheduler.forget_after", "job", job, "last_served", jobs.FormatTick(served))
}

// stranger says which names have other jobs on another replica.
func (e events) stranger(ev scheduler.Event) {
	where := e.log.With("other", ev.Other, "program", programName(), "since", jobs.FormatTick(ev.Since.Round(0)))
	if ev.Err != nil {
		where.Warn("another live replica serves another set of jobs, and no roll-out explains it; whether they have the same names is not known", "error", oneLine(ev.Err))
		return
	}
	where.Warn(view.StrangersText, "jobs", len(ev.Jobs), "first", ev.Jobs[:min(len(ev.Jobs), manyJobs)])
}

func (e events) each(what string, names []string, more func(job string) []any) {
	if len(names) > manyJobs {
		e.log.Info(what, "jobs", len(names), "first", names[:manyJobs])
		return
	}
	for _, name := range names {
		args := []any{slog.String("job", name)}
		if more != nil {
			args = append(args, more(name)...)
		}
		e.log.Info(what, args...)
	}
}

// updateFailed logs the mistakes in a new set of jobs, one per line.
func (e events) updateFailed(err error) {
	const kept = "the old jobs continue"
	config, ok := errors.AsType[*ConfigError](err)
	switch {
	case err == nil:
		e.log.Info("the new jobs are valid again")
	case errors.Is(err, scheduler.ErrHalfWritten):
		e.log.Warn("the new jobs may be half written: the old jobs continue until they were read again", "error", oneLine(err))
	case !ok:
		e.log.Error("new jobs were not applied: "+kept, "error", oneLine(err))
	default:
		for line := range strings.Lines(config.Error()) {
			e.log.Error("the configuration was not applied: "+kept, "error", strings.TrimSuffix(line, "\n"))
		}
	}
}
