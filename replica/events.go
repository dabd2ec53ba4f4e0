package replica

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// events writes what happens to the log.
type events struct {
	log    *slog.Logger
	ledger *unrecorded
}

// unrecorded is an outage of the ledger, for ticks that did not run.
type unrecorded struct {
	mu      sync.Mutex
	ticks   int // that could not be recorded so far; 0: there is no outage
	dropped int // that are given up
	since   time.Time
}

// observe logs what the scheduler does: usual events as info, failures as warning or error,
// and events that interest only developers as debug.
func (e events) observe(ev event.Event) {
	en := ev.Entry
	switch ev.Kind {
	case event.Claimed:
		e.log.Info("tick won", slog.String("job", en.Job), slog.String("tick", claimed(en)), slog.Any("token", en.Token),
			slog.Int("attempt", en.Attempt), votes(en.Votes), slog.Duration("took", ev.Took))
	case event.Lost:
		e.log.Debug("tick is another replica's", "job", en.Job, "tick", claimed(en), "why", store.OneLine(ev.Err))
	case event.Retrying:
		e.log.Debug("claim failed, trying again", "job", en.Job, "tick", claimed(en), "why", store.OneLine(ev.Err), "in", ev.In)
	case event.Unread:
		e.log.Warn("ledger not read: ticks that nobody ran are not caught up", "job", en.Job, "error", store.OneLine(ev.Err))
	case event.Decided: // only info: another replica may run it
		e.log.Info("not run here", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "outcome", string(en.Outcome), "reason", e.reason(en), "reason_code", string(en.Reason.Code))
	case event.Settled:
		e.settled(en, ev.Err)
	case event.Extended:
		e.extended(ev)
	case event.Late:
		e.log.Warn("run starts late", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "token", en.Token, "by", ev.By)
	case event.LeaseLost:
		e.log.Warn("lease lost: the run is told to stop", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "token", en.Token, "cause", store.OneLine(ev.Err))
	case event.Chained:
		e.chained(ev)
	case event.NotArchived:
		e.log.Warn("the log of a run could not be stored", "job", en.Job, "tick", claimed(en), "error", store.OneLine(ev.Err))
	case event.Overdue:
		e.log.Error("job ignores the end of its context", "job", en.Job, "tick", claimed(en), "token", en.Token, "since", ev.Since)
	case event.Finished:
		e.finished(en, ev.Err)
	case event.Recorded:
		e.recorded(en, ev.Err)
	case event.Overslept:
		e.log.Warn("ticks passed unnoticed, too many to record each", "job", en.Job, "from", jobs.FormatTick(ev.Since), "before", jobs.FormatTick(ev.Before))
	case event.Forgotten:
		e.forgotten(en.Job, ev.Since, ev.Err)
	case event.Updated:
		e.updated(ev.Diff)
	case event.UpdateFailed:
		e.updateFailed(ev.Err)
	case event.ClockJumped:
		e.log.Warn("the clock jumped: this machine was suspended, or somebody set its clock", "by", ev.By)
	case event.Twin:
		e.log.Warn(view.TwinsText, "other", ev.Other)
	case event.Stranger:
		e.stranger(ev)
	case event.Draining:
		e.draining(ev.Running)
	}
}

// settled says that no replica ran a tick, or that this is not known.
func (e events) settled(en ledger.Entry, err error) {
	attrs := []any{"job", en.Job, "tick", jobs.FormatTick(en.Tick), "reason", e.reason(en), "reason_code", string(en.Reason.Code)}
	switch {
	case err != nil:
		e.log.Info("it is not known whether another replica ran the tick", attrs...)
		e.ledger.mu.Lock()
		defer e.ledger.mu.Unlock()
		e.dropped()
	case en.Outcome == ledger.Missed:
		e.log.Warn("tick missed", attrs...)
	default:
		e.log.Info("tick "+string(en.Outcome), attrs...)
	}
}

// dropped says, once for each outage of the ledger, that there are ticks for which it was too long.
// The caller holds the lock.
func (e events) dropped() {
	if e.ledger.dropped++; e.ledger.dropped == 1 {
		e.log.Warn("ticks that did not run are given up: too many wait for the ledger, or this replica stops. Not all of them are in the ledger, or told")
	}
}

// recorded says which ticks the ledger does not have yet, and once each when an outage of it begins
// and ends.
func (e events) recorded(en ledger.Entry, err error) {
	if err != nil {
		e.log.Info("a tick without a run was not recorded", "job", en.Job, "tick", jobs.FormatTick(en.Tick))
	}
	o := e.ledger
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case errors.Is(err, event.ErrDropped): // listings compute it
		e.dropped()
	case err != nil:
		if o.ticks++; o.ticks > 1 {
			return
		}
		o.since, o.dropped = time.Now(), 0
		args := []any{}
		if !errors.Is(err, locking.ErrNoQuorum) { // that the store is silent is said elsewhere, with the cause
			args = append(args, "error", store.OneLine(err))
		}
		e.log.Warn("the ledger cannot be written: it gets the ticks that did not run later", args...)
	case o.ticks > 0:
		e.log.Info("the ledger is written again", "after", time.Since(o.since).Round(time.Millisecond), "ticks", o.ticks, "dropped", o.dropped)
		o.ticks = 0
	}
}

// reason is the reason of a tick that did not run, without the error of a silent store: the log has
// it once for the outage.
func (e events) reason(en ledger.Entry) string {
	if en.Reason.Code == ledger.CodeNoQuorum {
		en.Reason.Details = nil
	}
	return en.Reason.String()
}

// extended tells once each that extensions of a lease begin to fail, and that one has succeeded again.
func (e events) extended(ev event.Event) {
	attrs := []any{"job", ev.Entry.Job, "tick", claimed(ev.Entry), "token", ev.Entry.Token, "deadline", ev.Deadline}
	last := ev.Entry.Beats.Last // the one of this event, too
	failedBefore := len(last) > 1 && last[len(last)-2].Failed
	switch {
	case ev.Err != nil && failedBefore:
		e.log.Debug("lease not extended", append(attrs, "error", store.OneLine(ev.Err))...)
	case ev.Err != nil:
		e.log.Warn("lease not extended", append(attrs, "error", store.OneLine(ev.Err))...)
	case failedBefore:
		e.log.Info("lease extended again", attrs...)
	default:
		e.log.Debug("lease extended", attrs...)
	}
}

func (e events) chained(ev event.Event) {
	attrs := []any{"job", ev.Entry.Job, "run", ev.Run, "triggers", ev.Triggers}
	if ev.Err != nil {
		e.log.Error("job was not triggered by the end of a run", append(attrs, "error", store.OneLine(ev.Err))...)
		return
	}
	e.log.Info("job triggered by the end of a run", attrs...)
}

func (e events) finished(en ledger.Entry, released error) {
	write := e.log.Warn
	if en.Outcome == ledger.Succeeded || en.Outcome == ledger.Skipped {
		write = e.log.Info
	}
	attrs := []any{
		"job", en.Job, "tick", jobs.FormatTick(en.Tick), "token", en.Token, "attempt", en.Attempt,
		"outcome", string(en.Outcome), "took", en.Finished.Sub(en.Started),
	}
	if why := en.Reason.String(); why != "" {
		attrs = append(attrs, "reason", why, "reason_code", string(en.Reason.Code))
	}
	if en.Error != "" {
		attrs = append(attrs, "error", en.Error)
	}
	write("run ended", attrs...)
	if released != nil {
		e.log.Warn("the ledger may not have the end of the run", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "token", en.Token, "error", store.OneLine(released))
	}
}

func (e events) draining(running []string) {
	if len(running) == 0 {
		e.log.Info("draining: no new ticks")
		return
	}
	e.log.Info("draining: no new ticks; these jobs have scheduler.drain_timeout to end", "running", running)
}

// nodes logs what happens to nodes.
func (e events) nodes() membership.Observer {
	return membership.Observer{
		Down: func(node string, err error) { e.ofNode(e.log.Warn, "node is down", node, "error", store.OneLine(err)) },
		Up:   func(node string) { e.ofNode(e.log.Info, "node answers again", node) },
		Formatted: func(node string, until time.Time) {
			e.ofNode(e.log.Info, "blank node joined; it abstains for a grace", node, "until", jobs.FormatTick(until))
		},
		Restarted: func(node, why string, until time.Time) {
			e.ofNode(e.log.Warn, "the node may have forgotten; it abstains for a grace", node, "why", why, "until", jobs.FormatTick(until))
		},
		Skewed: e.skewed,
		Warn:   func(node, text string) { e.ofNode(e.log.Warn, text, node) },
	}
}

// ofNode writes a line about a node. One Redis is no node, but the store.
func (events) ofNode(write func(string, ...any), text, node string, attrs ...any) {
	if node == membership.SingleName {
		write(strings.Replace(text, "node", "store", 1), attrs...)
		return
	}
	write(text, append([]any{"node", node}, attrs...)...)
}

func (e events) skewed(node string, by time.Duration) {
	whose := "this replica's clock"
	switch node {
	case "":
	case membership.SingleName:
		whose = "the store's clock"
	default:
		whose = "the clock of node " + node
	}
	switch {
	case by == 0:
		e.log.Info(whose + " agrees with the others again")
	case by > 0:
		e.log.Warn(whose+" is ahead of the others; set it right before ticks are lost", "by", by.Round(time.Millisecond))
	default:
		e.log.Warn(whose+" is behind the others; set it right before ticks are lost", "by", by.Abs().Round(time.Millisecond))
	}
}

// claimed is the tick as its claim names it: of a backfill that is not its nominal time.
func claimed(e ledger.Entry) string { return jobs.FormatTick(e.OrderKey()) }

// votes are those of a claim; nothing of one store, or of a single node.
func votes(v locking.Votes) slog.Attr {
	if v.Of < 2 {
		return slog.Attr{}
	}
	return slog.String("votes", strconv.Itoa(v.For)+"/"+strconv.Itoa(v.Of))
}

// manyJobs is from how many on the jobs of an update are counted, not listed.
const manyJobs = 20

// updated says what a reload has changed, in a line per job.
func (e events) updated(d event.Diff) {
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
		e.log.Warn("job not forgotten: it is tried again", "job", job, "last_served", jobs.FormatTick(served), "error", store.OneLine(err))
		return
	}
	e.log.Info("job forgotten: nobody has served it for scheduler.forget_after", "job", job, "last_served", jobs.FormatTick(served))
}

// stranger says which names have other jobs on another replica.
func (e events) stranger(ev event.Event) {
	where := e.log.With("other", ev.Other, "program", programName(), "since", jobs.FormatTick(ev.Since.Round(0)))
	if ev.Err != nil {
		where.Warn("another live replica serves another set of jobs, and no roll-out explains it; whether they have the same names is not known", "error", store.OneLine(ev.Err))
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
	config, ok := errors.AsType[*settings.Error](err)
	switch {
	case err == nil:
		e.log.Info("the new jobs are valid again")
	case errors.Is(err, scheduler.ErrHalfWritten):
		e.log.Warn("the new jobs may be half written: the old jobs continue until they were read again", "error", store.OneLine(err))
	case !ok:
		e.log.Error("new jobs were not applied: "+kept, "error", store.OneLine(err))
	default:
		for line := range strings.Lines(config.Error()) {
			e.log.Error("the configuration was not applied: "+kept, "error", strings.TrimSuffix(line, "\n"))
		}
	}
}
