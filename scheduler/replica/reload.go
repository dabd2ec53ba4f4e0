package replica

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// settle is how long a file that changed must stay the same before it is read:
// editors write in several steps.
const settle = 300 * time.Millisecond

// A reloader reads the configuration again and serves its jobs.
type reloader struct {
	replica  *Replica
	registry *jobs.Registry
	source   Source
	adapt    func(*Config)
	every    time.Duration // 0: only when asked

	running Config // what the replica runs with
	file    Config // what was read last
	sum     string // of the file's content when it was read last
	failed  bool   // it was not taken
}

func newReloader(r *Replica, cfg *Config, registry *jobs.Registry, options Options) *reloader {
	l := &reloader{
		replica: r, registry: registry, source: *options.Source, adapt: options.Adapt,
		every: cfg.Scheduler.ReloadEvery, running: *cfg, file: *cfg,
	}
	if cfg.origin != nil {
		l.sum = cfg.origin.sum + l.calendarSums()
	}
	return l
}

// Reload has the configuration read again at once, without waiting for its file
// to change, as at SIGHUP. It needs Options.Source, and does not wait.
func (r *Replica) Reload() {
	select {
	case r.reload <- struct{}{}:
	default: // it will be read anyway
	}
}

// Refresh has Options.Jobs asked at once. It does not wait.
func (r *Replica) Refresh() { r.scheduler.Refresh() }

// run reads the configuration again and again until ctx ends.
func (l *reloader) run(ctx context.Context) {
	var poll <-chan time.Time
	if l.every > 0 {
		ticker := time.NewTicker(l.every)
		defer ticker.Stop()
		poll = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.replica.reload:
			if l.read(); !l.failed { // whoever asked wants to know, also if nothing differs
				l.replica.log.Info("the configuration was read again")
			}
		case <-poll:
			if changed(ctx, l.sum, l.contents) {
				l.read()
			}
		}
	}
}

// changed tells whether contents is another than last, and has stopped changing. It
// goes by the content: a Kubernetes ConfigMap is a link to a directory that is
// replaced, and times and sizes may stay as they were.
func changed(ctx context.Context, last string, contents func() string) bool {
	now := contents()
	if now == last {
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(settle):
		}
		again := contents()
		if again == now {
			return now != last
		}
		now = again
	}
}

// contents is a hash of what the files of the configuration hold, or of why they
// cannot be read.
func (l *reloader) contents() string {
	text, err := os.ReadFile(l.source.withDefaults().Path)
	if err != nil {
		return err.Error()
	}
	return textSum(text) + l.calendarSums()
}

// calendarSums is the same for the calendars of the configuration read last.
func (l *reloader) calendarSums() string {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.file.Calendars)) {
		if file := l.file.Calendars[name].ICS; file != "" {
			text, err := l.file.origin.read(file)
			fmt.Fprint(&sums, " ", textSum([]byte(text)), err)
		}
	}
	return sums.String()
}

func textSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// read reads the configuration and serves its jobs. A mistake in it changes
// nothing, and is said once: the file is not read again before it changes.
func (l *reloader) read() {
	l.sum = l.contents()
	cfg, err := Read(l.source, l.registry)
	if err == nil {
		if l.adapt != nil {
			l.adapt(cfg)
		}
		err = l.serve(cfg)
	}
	if errors.Is(err, scheduler.ErrStopped) {
		return
	}
	if err != nil || l.failed {
		l.replica.observer.UpdateFailed(err)
	}
	l.failed = err != nil
}

// serve serves the jobs of cfg, and says what else of it needs a restart.
func (l *reloader) serve(cfg *Config) error {
	next := l.running
	next.Jobs, next.Defaults, next.Calendars = cfg.Jobs, cfg.Defaults, cfg.Calendars
	next.Scheduler.Timezone = cfg.Scheduler.Timezone
	next.origin = cfg.origin
	// What cannot change may forbid what the file allows with its other settings.
	ps := &problems{origin: cfg.origin}
	next.checkJobs(ps, l.registry)
	if err := ps.err(); err != nil {
		return err
	}
	list, err := next.JobList(l.registry)
	if err != nil {
		return err
	}
	l.replica.settings.Store(new(changedSettings(l.running.Jobs, next.Jobs)))
	if _, err := l.replica.scheduler.Update(list); err != nil {
		return err
	}
	l.replica.tags.own.Store(tagsIn(list))
	l.sayWhatWaits(*cfg)
	l.running, l.file = next, *cfg
	l.replica.settingsShown.Store(&next)
	return nil
}

// sayWhatWaits tells, when settings besides the jobs were changed in the file,
// in which of them it differs from what the replica runs with.
func (l *reloader) sayWhatWaits(file Config) {
	if len(needRestart(l.file, file)) == 0 {
		return
	}
	if keys := needRestart(l.running, file); len(keys) > 0 {
		l.replica.log.Warn("settings besides the jobs have changed; they count from the next start", "settings", strings.Join(keys, ", "))
		return
	}
	l.replica.log.Info("settings besides the jobs are again those of the start")
}

// changedSettings names the settings in which a job differs from before the
// last reload.
func (r *Replica) changedSettings(job string) []string {
	if all := r.settings.Load(); all != nil {
		return (*all)[job]
	}
	return nil
}

// changedSettings lists, for jobs that are in both, what differs.
func changedSettings(from, to map[string]JobConfig) map[string][]string {
	found := map[string][]string{}
	for name, job := range to {
		was, ok := from[name]
		if !ok {
			was, ok = from[job.Formerly]
		}
		if ok {
			found[name] = changedKeys(was, job)
		}
	}
	return found
}

// needRestart lists the settings that differ and are not taken in by a reload.
func needRestart(from, to Config) []string {
	return slices.DeleteFunc(changedKeys(from, to), func(key string) bool {
		return key == "jobs" || key == "calendars" || key == "scheduler.timezone" || strings.HasPrefix(key, "defaults.")
	})
}
