package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Control requests acts for the whole cluster. An act names its job by its current or
// former name; the caller sets By and Reason. Bad requests return an *InvalidError or a
// *acts.Error, impossible ones an *ImpossibleError, unknown jobs ErrNotFound.
type Control struct {
	Reader
	// Evict takes the lock of a job, or a plain lock, from its holder. Token 0 stands
	// for the only holder.
	Evict func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error)
	// CheckParams, if set, returns a *acts.Error if a published job refuses the
	// params of a request. Params that it cannot check are checked when the job runs.
	CheckParams func(job scheduler.JobInfo, params json.RawMessage) error
}

// An InvalidError says what is wrong with a request.
type InvalidError struct{ Msg string }

// Error is the message.
func (e *InvalidError) Error() string { return e.Msg }

// An ImpossibleError says why a valid request cannot be done.
type ImpossibleError struct{ Msg string }

// Error is the message.
func (e *ImpossibleError) Error() string { return e.Msg }

func invalid(format string, args ...any) error {
	return &InvalidError{Msg: fmt.Sprintf(format, args...)}
}

// resolveJob returns the act with the key of its job, and ErrNotFound for an unknown job. It
// reads the directory anew, since a cached one may be too old to act on.
func (c Control) resolveJob(ctx context.Context, act acts.Act) (acts.Act, error) {
	c.Cache.Drop()
	if act.Job == "" {
		return act, nil
	}
	d, err := c.Directory(ctx)
	if err != nil {
		return act, err
	}
	act.Job = d.Key(act.Job)
	unknown := d.Require(act.Job)
	if unknown == nil || act.Kind != acts.Resume {
		return act, unknown
	}
	// A pause outlives the other records of a removed job.
	open, err := c.Acts.Open(ctx)
	if err == nil && !slices.ContainsFunc(open.Pauses, func(p acts.Act) bool { return p.Job == act.Job }) {
		err = unknown
	}
	return act, err
}

// Trigger requests one run of a job, now. The Job of the returned act is the key; see
// TriggeredRun for the run.
func (c Control) Trigger(ctx context.Context, act acts.Act) (acts.Act, error) {
	act.Kind = acts.Trigger
	act, err := c.resolveJob(ctx, act)
	if err != nil {
		return act, err
	}
	if len(act.Params) > 0 && c.CheckParams != nil {
		d, err := c.Directory(ctx)
		if err == nil {
			err = c.CheckParams(d.Last[act.Job].JobInfo, act.Params)
		}
		if err != nil {
			return act, err
		}
	}
	return c.Acts.Do(ctx, act)
}

// PauseOrResume pauses or resumes a job, a tag or all jobs, as act.Kind says. It also
// does acts that look like a mistake, with a warning: jobs may get the tag later.
func (c Control) PauseOrResume(ctx context.Context, act acts.Act) (done acts.Act, warning string, err error) {
	if act, err = c.resolveJob(ctx, act); err != nil {
		return act, "", err
	}
	if warning, err = c.warning(ctx, act); err != nil {
		return act, "", err
	}
	done, err = c.Acts.Do(ctx, act)
	return done, warning, err
}

// Resume ends the pause with an ID. The act has no target. The error is ErrNotFound if
// no such pause is in force.
func (c Control) Resume(ctx context.Context, act acts.Act, id string) (acts.Act, error) {
	open, err := c.Acts.Open(ctx)
	if err != nil {
		return act, err
	}
	i := slices.IndexFunc(open.Pauses, func(p acts.Act) bool { return p.ID == id })
	var target acts.Act
	if i >= 0 {
		target = open.Pauses[i]
	} else if target, err = c.audited(ctx, act.ID); err != nil {
		return act, err
	}
	if target.ID == "" {
		return act, fmt.Errorf("%w: no pause has the id %s; quorate pauses lists them", ErrNotFound, id)
	}
	act.Kind, act.Job, act.Tag, act.All = acts.Resume, target.Job, target.Tag, target.All
	return c.Acts.Do(ctx, act)
}

// audited returns the audited act with an ID, zero if there is none.
func (c Control) audited(ctx context.Context, id string) (acts.Act, error) {
	if id == "" {
		return acts.Act{}, nil
	}
	audit, err := c.Acts.Audit(ctx, acts.KeepAudit)
	if i := slices.IndexFunc(audit, func(a acts.Act) bool { return a.ID == id }); i >= 0 {
		return audit[i], nil
	}
	return acts.Act{}, err
}

func (c Control) warning(ctx context.Context, act acts.Act) (string, error) {
	if act.Kind == acts.Pause {
		d, err := c.Directory(ctx)
		if act.Tag == "" || slices.ContainsFunc(d.Versions, func(v scheduler.Version) bool { return slices.Contains(v.Tags, act.Tag) }) {
			return "", err
		}
		return "no job of this cluster has the " + act.Target(), err
	}
	open, err := c.Acts.Open(ctx)
	if slices.ContainsFunc(open.Pauses, func(p acts.Act) bool { return p.Target() == act.Target() }) {
		return "", err
	}
	return act.Target() + " was not paused", err
}

// A Cancelled is the result of a cancel.
type Cancelled struct {
	Runs      []Run `json:"runs" jsonschema:"Runs that were asked to stop."` // under the current name of their job
	Withdrawn []Act `json:"withdrawn" jsonschema:"Triggers and backfills that were withdrawn."`
}

// maxCancelled bounds the runs of a job that one act cancels.
const maxCancelled = 100

// Cancel asks the running runs of a job to stop, or only act.Run. With waiting it also
// withdraws the job's pending triggers and backfills. The error is ErrNotFound if there
// was nothing to cancel.
func (c Control) Cancel(ctx context.Context, act acts.Act, waiting bool) (Cancelled, error) {
	act.Kind = acts.Cancel
	name := act.Job
	act, err := c.resolveJob(ctx, act)
	if err != nil {
		return Cancelled{}, err
	}
	done := Cancelled{Runs: []Run{}, Withdrawn: []Act{}}
	if waiting {
		if done.Withdrawn, err = c.withdraw(ctx, act); err != nil {
			return done, err
		}
	}
	list, err := c.Runs(ctx, name, ledger.Query{Limit: maxCancelled, Outcomes: []ledger.Outcome{ledger.Running}})
	if err != nil {
		return done, err
	}
	only := act.Run // with the job's current name or with its key
	for _, e := range list {
		kept := e
		kept.Job = act.Job
		if act.Run = kept.ID(); only != "" && only != e.ID() && only != act.Run {
			continue
		}
		if _, err := c.Acts.Do(ctx, act); err != nil {
			return done, err
		}
		done.Runs = append(done.Runs, NewRun(e))
	}
	if len(done.Runs)+len(done.Withdrawn) == 0 {
		err = fmt.Errorf("%w: no run of %s is running; quorate runs lists them", ErrNotFound, name)
	}
	return done, err
}

// withdraw closes the job's pending triggers and backfills.
func (c Control) withdraw(ctx context.Context, act acts.Act) ([]Act, error) {
	closed := []Act{}
	open, err := c.Acts.Open(ctx)
	if err != nil {
		return closed, err
	}
	result := "withdrawn by " + act.By
	if act.Reason != "" {
		result += ": " + act.Reason
	}
	var errs []error
	for _, r := range open.Requests {
		if r.Job != act.Job || r.Kind == acts.Cancel {
			continue
		}
		if err := c.Acts.Close(ctx, r.ID, result); err != nil {
			errs = append(errs, err)
			continue
		}
		closed = append(closed, NewAct(r))
	}
	return closed, errors.Join(errs...)
}

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

// Release takes the lock that act.Job names from its holder by force, and writes that to
// the audit log. If it returns a lock and an error, only the audit log failed.
func (c Control) Release(ctx context.Context, act acts.Act, token locking.Token) (Lock, error) {
	act.Kind = acts.Release
	taken, err := c.Evict(ctx, act.Job, token, act.Reason)
	if err != nil {
		return taken, err
	}
	act.Result = "taken from " + holder(taken)
	return taken, c.Note(ctx, act)
}

func holder(l Lock) string {
	if l.Holder == nil {
		return "an unknown holder"
	}
	return *l.Holder
}

// Note writes an act to the audit log that was done or refused without a request.
func (c Control) Note(ctx context.Context, act acts.Act) error {
	if book, ok := c.Acts.(acts.Notebook); ok {
		return book.Note(ctx, act)
	}
	return nil
}
