package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// A reloader reads the configuration again and serves its jobs.
type reloader struct {
	replica  *Replica
	from     config.File // how it is read; its Source is set
	registry *jobs.Registry
	over     func(*config.Config) (*config.Config, error) // puts the program's settings over it

	running *config.Config // what the replica runs with
	latest  *config.Config // what was read last
	sum     string         // of the file's content when it was read last
	failed  bool           // it was not taken

	suspectSum   string    // of a file that may be half written; empty: there is none
	suspectSince time.Time // when it was first read
}

// secondLook is how long a file that may be half written must stay the same before it counts.
const secondLook = 15 * time.Second

// Reload has the configuration read again at once, without waiting for its file
// to change, as at SIGHUP. It does nothing without one, and does not wait.
func (r *Replica) Reload() {
	select {
	case r.reload <- struct{}{}:
	default: // it will be read anyway
	}
}

// Refresh has Config.Source asked at once. It does not wait.
func (r *Replica) Refresh() { r.scheduler.Refresh() }

// run reads the configuration again and again until ctx ends.
func (l *reloader) run(ctx context.Context) {
	var poll <-chan time.Time
	if every := *l.running.Scheduler.ReloadEvery; every > 0 { // otherwise only when asked
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		var again <-chan time.Time
		if l.suspectSum != "" {
			again = time.After(time.Until(l.suspectSince.Add(secondLook)))
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
			l.read()
		case <-l.replica.reload:
			if l.read(); !l.failed { // a requested reload is reported even without changes
				l.replica.log.Info("the configuration was read again")
			}
		case <-poll:
			if config.Changed(ctx, l.sum, l.contents) {
				l.read()
			}
		}
	}
}

func (l *reloader) contents() string { return l.latest.SumNow(*l.from.Source) }

// read reads the configuration and serves its jobs. A mistake in it changes nothing, and is
// reported once: the file is not read again before it changes.
func (l *reloader) read() {
	l.sum = l.contents()
	suspect := l.suspectSum
	l.suspectSum = ""
	cfg, err := config.Read(*l.from.Source, l.registry)
	if err == nil {
		if l.from.Adapt != nil {
			l.from.Adapt(cfg)
		}
		if cfg, err = l.over(cfg); err == nil {
			err = l.serve(cfg, suspect)
		}
	}
	if errors.Is(err, scheduler.ErrStopped) {
		return
	}
	if err != nil || l.failed {
		l.replica.observer(event.Event{Kind: event.UpdateFailed, Err: err})
	}
	l.failed = err != nil
}

// serve serves the jobs of cfg, and says what else of it needs a restart. The hash suspect is that
// of the file if it seemed to be half written when it was read before.
func (l *reloader) serve(cfg *config.Config, suspect string) error {
	next, err := l.running.WithJobs(cfg, l.registry)
	if err != nil {
		return err
	}
	list, err := next.JobList(l.registry)
	if err != nil {
		return err
	}
	if err := l.checkWhole(next); err != nil {
		if cfg.Sum() != suspect {
			l.suspectSince = time.Now()
		}
		if time.Since(l.suspectSince) < secondLook {
			l.suspectSum = cfg.Sum()
			return err
		}
	}
	if _, err := l.replica.scheduler.Update(list); err != nil {
		return err
	}
	l.replica.tags.own.Store(tagsIn(list))
	l.logPendingSettings(cfg)
	l.logReferences(cfg)
	l.running, l.latest = next, cfg
	l.replica.settingsShown.Store(next)
	l.replica.Refresh() // jobs of a Source have the defaults, too
	l.replica.warnNoJobs(list)
	l.replica.warnUnresolved(next)
	return nil
}

// checkWhole returns an error that matches scheduler.ErrHalfWritten if the file of next seems to be
// cut off, or lacks most jobs of the one that the replica runs with.
func (l *reloader) checkWhole(next *config.Config) error {
	err := scheduler.CheckLoss(ofFile(l.running), ofFile(next))
	if err == nil && next.CutOff(l.running) {
		return fmt.Errorf("%w: it is cut off, compared with the file that was read before", scheduler.ErrHalfWritten)
	}
	return err
}

// ofFile returns the names and keys of the jobs that are not the program's.
func ofFile(cfg *config.Config) (list []jobs.Job) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Jobs)) {
		if j := cfg.Jobs[name]; j.Program == nil {
			list = append(list, jobs.Job{Name: name, Key: j.Formerly})
		}
	}
	return list
}

// logReferences logs that files have changed which the configuration refers to, and warns of
// those with which the store cannot be reached.
func (l *reloader) logReferences(file *config.Config) {
	if file.Referenced() == l.latest.Referenced() {
		return
	}
	l.replica.log.Info("files that the configuration refers to have changed; each new connection and each run reads them")
	if _, err := l.running.Cluster(); err != nil {
		l.replica.log.Warn("the next connection to the store will fail until this is mended", "why", store.OneLine(err))
	}
}

// logPendingSettings logs the settings besides the jobs that differ in the changed file. They
// need a restart.
func (l *reloader) logPendingSettings(file *config.Config) {
	if len(config.NeedRestart(l.latest, file)) == 0 {
		return
	}
	if keys := config.NeedRestart(l.running, file); len(keys) > 0 {
		l.replica.log.Warn("settings besides the jobs have changed; they count from the next start", "settings", strings.Join(keys, ", "))
		return
	}
	l.replica.log.Info("settings besides the jobs are again those of the start")
}
