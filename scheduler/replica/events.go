package replica

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// events writes what happens to the log.
type events struct {
	log *slog.Logger
	// settings names those of a job that a reload has changed, if it is known.
	settings func(job string) []string
}

// observer logs what the scheduler does: what concerns somebody as info, what
// went wrong as warning or error, the rest as debug.
func (e events) observer() scheduler.Observer {
	return scheduler.Observer{
		Claimed: e.claimed, Lost: e.lost, Retrying: e.retrying, Decided: e.decided,
		Extended: e.extended, Overdue: e.overdue, Finished: e.finished,
		Recorded: e.recorded, ClockJumped: e.clockJumped, Overslept: e.overslept,
		Draining: e.draining, Late: e.late, LeaseLost: e.leaseLost, Chained: e.chained,
		NotArchived: e.notArchived, Unread: e.unread, Updated: e.updated, UpdateFailed: e.updateFailed,
		Forgotten: e.forgotten,
	}
}

func (e events) claimed(job string, c locking.Claim, took time.Duration) {
	e.log.Info("tick won", "job", job, "tick", jobs.FormatTick(c.Tick), "token", c.Token, "attempt", c.Attempt, "votes", votes(c.Votes), "took", took)
}

func (e events) lost(job string, at time.Time, err error) {
	e.log.Debug("tick is another replica's", "job", job, "tick", jobs.FormatTick(at), "why", said(err))
}

func (e events) retrying(job string, at time.Time, err error, in time.Duration) {
	e.log.Debug("claim failed, trying again", "job", job, "tick", jobs.FormatTick(at), "why", said(err), "in", in)
}

func (e events) unread(job string, err error) {
	e.log.Warn("ledger not read: ticks that nobody ran are not caught up", "job", job, "error", said(err))
}

func (e events) decided(en scheduler.Entry) {
	e.log.Warn("tick does not run", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "outcome", string(en.Outcome), "reason", en.Reason.String(), "reason_code", string(en.Reason.Code))
}

func (e events) extended(job string, c locking.Claim, x locking.Extension) {
	if x.Err != nil {
		e.log.Warn("lease not extended", "job", job, "tick", jobs.FormatTick(c.Tick), "token", c.Token, "deadline", x.Deadline, "error", said(x.Err))
		return
	}
	e.log.Debug("lease extended", "job", job, "tick", jobs.FormatTick(c.Tick), "token", c.Token, "deadline", x.Deadline)
}

func (e events) late(run scheduler.Entry, by time.Duration) {
	e.log.Warn("run starts late", "job", run.Job, "tick", jobs.FormatTick(run.Tick), "token", run.Token, "by", by)
}

func (e events) leaseLost(run scheduler.Entry, cause error) {
	e.log.Warn("lease lost: the run is told to stop", "job", run.Job, "tick", jobs.FormatTick(run.Tick), "token", run.Token, "cause", said(cause))
}

func (e events) chained(job, run, key string, err error) {
	if err != nil {
		e.log.Error("job was not triggered by the end of a run", "job", job, "run", run, "triggers", key, "error", said(err))
		return
	}
	e.log.Info("job triggered by the end of a run", "job", job, "run", run, "triggers", key)
}

func (e events) notArchived(job string, tick time.Time, err error) {
	e.log.Warn("what a run logged could not be kept", "job", job, "tick", jobs.FormatTick(tick), "error", said(err))
}

func (e events) overdue(job string, c locking.Claim, since time.Time) {
	e.log.Error("job ignores the end of its context", "job", job, "tick", jobs.FormatTick(c.Tick), "token", c.Token, "since", since)
}

func (e events) finished(en scheduler.Entry, released error) {
	write := e.log.Warn
	if en.Outcome == scheduler.Succeeded || en.Outcome == scheduler.Skipped {
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
		e.log.Warn("the ledger may not have the end of the run", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "token", en.Token, "error", said(released))
	}
}

func (e events) recorded(en scheduler.Entry, err error) {
	if err != nil {
		e.log.Warn("the ledger does not have why a tick did not run", "job", en.Job, "tick", jobs.FormatTick(en.Tick), "error", said(err))
	}
}

func (e events) clockJumped(by time.Duration) {
	e.log.Warn("the clock jumped: this machine was suspended, or somebody set its clock", "by", by)
}

func (e events) overslept(job string, first, before time.Time) {
	e.log.Warn("ticks passed unnoticed, too many to record each", "job", job, "from", jobs.FormatTick(first), "before", jobs.FormatTick(before))
}

func (e events) draining(running []string) {
	if len(running) == 0 {
		e.log.Info("draining: no new ticks")
		return
	}
	e.log.Info("draining: no new ticks; these jobs have scheduler.drain_timeout to end", "running", running)
}

// nodes logs what happens to nodes.
func (e events) nodes() nodes.Observer {
	return nodes.Observer{
		Down: func(node string, err error) { e.log.Warn("node is down", "node", node, "error", said(err)) },
		Up:   func(node string) { e.log.Info("node answers again", "node", node) },
		Formatted: func(node string, until time.Time) {
			e.log.Info("blank node joined; it abstains for a grace", "node", node, "until", jobs.FormatTick(until))
		},
		Restarted: func(node string, until time.Time) {
			e.log.Warn("node restarted and may have forgotten; it abstains for a grace", "node", node, "until", jobs.FormatTick(until))
		},
		Skewed: e.skewed,
		Warn:   func(node, text string) { e.log.Warn(text, "node", node) },
	}
}

func (e events) skewed(node string, by time.Duration) {
	whose := "this replica's clock"
	if node != "" {
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

func votes(v locking.Votes) string { return strconv.Itoa(v.For) + "/" + strconv.Itoa(v.Of) }

// said is what a log line says of an error: joined ones take several lines.
func said(err error) string { return oneLine(err.Error()) }
