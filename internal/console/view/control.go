package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Control requests commands for the whole cluster. A command names its job by its current or
// former name; the caller sets By and Reason. Bad requests return an *InvalidError or a
// *commands.Error, impossible ones an *ImpossibleError, unknown jobs ErrNotFound.
type Control struct {
	Reader
	// CheckParams, if set, returns a *commands.Error if a published job refuses the
	// params of a request. Params that it cannot check are checked when the job runs.
	CheckParams func(job roster.JobInfo, params json.RawMessage) error
}

// ControlOf returns the control of a cluster, and with it the reader.
func ControlOf(c store.Cluster) Control {
	return Control{Reader: Reader{Records: c.Records(), Health: c, Claims: c, LastHour: c.LastHour}}
}

// An InvalidError says what is wrong with a request.
type InvalidError struct {
	Msg string
	Err error // its cause; may be nil
}

// Error is the message.
func (e *InvalidError) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// An ImpossibleError says why a valid request cannot be done.
type ImpossibleError struct{ Msg string }

// Error is the message.
func (e *ImpossibleError) Error() string { return e.Msg }

func invalid(format string, args ...any) error {
	return &InvalidError{Msg: fmt.Sprintf(format, args...)}
}

// resolveJob returns the command with the key of its job, and what was published of the job;
// ErrNotFound for an unknown job. It reads the directory anew, since a cached one may be too old to
// act on.
func (c Control) resolveJob(ctx context.Context, command commands.Command) (commands.Command, roster.JobInfo, error) {
	c.Cache.Drop()
	if command.Job == "" && command.Kind != commands.Backfill { // of a tag or of all jobs
		return command, roster.JobInfo{}, nil
	}
	d, err := c.Directory(ctx)
	if err != nil {
		return command, roster.JobInfo{}, err
	}
	command.Job = d.Key(command.Job)
	unknown := d.Require(command.Job)
	if unknown == nil || command.Kind != commands.Resume {
		return command, d.Last[command.Job].JobInfo, unknown
	}
	// A pause outlives the other records of a removed job.
	open, err := c.Records.Commands.Open(ctx)
	if err == nil && !slices.ContainsFunc(open.Pauses, func(p commands.Command) bool { return p.Job == command.Job }) {
		err = unknown
	}
	return command, roster.JobInfo{}, err
}

// Trigger requests one run of a job, now. The row names the job, and its run, by the key.
func (c Control) Trigger(ctx context.Context, command commands.Command) (Command, error) {
	command.Kind = commands.Trigger
	command, job, err := c.resolveJob(ctx, command)
	if err == nil && len(command.Params) > 0 && c.CheckParams != nil {
		err = c.CheckParams(job, command.Params)
	}
	if err != nil {
		return Command{}, err
	}
	return c.do(ctx, command)
}

// do requests a command.
func (c Control) do(ctx context.Context, command commands.Command) (Command, error) {
	done, err := c.Records.Commands.Do(ctx, command)
	if err != nil {
		return Command{}, err
	}
	return NewCommand(done), nil
}

// PauseOrResume pauses or resumes a job, a tag or all jobs, as command.Kind says. With an ID, and a
// command without a target, it ends the pause with this ID; ErrNotFound if none is in force. A
// command that looks like a mistake is done, too, and the result has a doubt: a job may get the tag
// later.
func (c Control) PauseOrResume(ctx context.Context, command commands.Command, id string) (done PauseResult, err error) {
	doubt := ""
	if id != "" {
		command, err = c.resumeOf(ctx, command, id)
	} else if command, _, err = c.resolveJob(ctx, command); err == nil {
		doubt, err = c.doubt(ctx, command)
	}
	if err == nil {
		done.Command, err = c.do(ctx, command)
	}
	done.Doubt = Optional(doubt)
	return done, err
}

// resumeOf returns the command that ends the pause with an ID.
func (c Control) resumeOf(ctx context.Context, command commands.Command, id string) (commands.Command, error) {
	open, err := c.Records.Commands.Open(ctx)
	if err != nil {
		return command, err
	}
	list, i := open.Pauses, slices.IndexFunc(open.Pauses, func(p commands.Command) bool { return p.ID == id })
	if i < 0 && command.ID != "" { // the request may have ended it before
		list, err = c.Records.Commands.Audit(ctx, commands.KeepAudit)
		i = slices.IndexFunc(list, func(a commands.Command) bool { return a.ID == command.ID })
	}
	switch {
	case i >= 0:
		command.Kind, command.Job, command.Tag, command.All = commands.Resume, list[i].Job, list[i].Tag, list[i].All
		return command, nil
	case err != nil:
		return command, err
	}
	return command, fmt.Errorf("%w: no pause has the id %s; quorate pauses lists them", ErrNotFound, id)
}

// doubt says why a pause or resume may be a mistake; "" if it looks right.
func (c Control) doubt(ctx context.Context, command commands.Command) (string, error) {
	if command.Kind == commands.Pause {
		d, err := c.Directory(ctx)
		if command.Tag == "" || slices.ContainsFunc(d.Versions, func(v roster.Version) bool { return slices.Contains(v.Tags, command.Tag) }) {
			return "", err
		}
		return "no job of this cluster has the " + command.Target(), err
	}
	open, err := c.Records.Commands.Open(ctx)
	if slices.ContainsFunc(open.Pauses, func(p commands.Command) bool { return p.Target() == command.Target() }) {
		return "", err
	}
	return command.Target() + " was not paused", err
}

// A Cancelled is the result of a cancel.
type Cancelled struct {
	Runs      []Run     `json:"runs" jsonschema:"Runs that were asked to stop."` // under the current name of their job
	Withdrawn []Command `json:"withdrawn" jsonschema:"Triggers and backfills that were withdrawn."`
}

// maxCancelled bounds the runs of a job that one command cancels.
const maxCancelled = 100

// Cancel asks the running runs of a job to stop, or only command.Run. With waiting it also
// withdraws the job's pending triggers and backfills. The error is ErrNotFound if there
// was nothing to cancel.
func (c Control) Cancel(ctx context.Context, command commands.Command, waiting bool) (Cancelled, error) {
	command.Kind = commands.Cancel
	name := command.Job
	command, _, err := c.resolveJob(ctx, command)
	if err != nil {
		return Cancelled{}, err
	}
	done := Cancelled{Runs: []Run{}, Withdrawn: []Command{}}
	if waiting {
		if done.Withdrawn, err = c.withdraw(ctx, command); err != nil {
			return done, err
		}
	}
	list, err := c.entriesOf(ctx, name, false, ledger.Query{Limit: maxCancelled, Outcomes: []ledger.Outcome{ledger.Running}})
	if err != nil {
		return done, err
	}
	only := command.Run // with the job's current name or with its key
	for _, e := range list {
		kept := e
		kept.Job = command.Job
		if command.Run = kept.ID(); only != "" && only != e.ID() && only != command.Run {
			continue
		}
		if _, err := c.Records.Commands.Do(ctx, command); err != nil {
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
func (c Control) withdraw(ctx context.Context, command commands.Command) ([]Command, error) {
	closed := []Command{}
	open, err := c.Records.Commands.Open(ctx)
	if err != nil {
		return closed, err
	}
	result := "withdrawn by " + command.By
	if command.Reason != "" {
		result += ": " + command.Reason
	}
	var errs []error
	for _, r := range open.Requests {
		if r.Job != command.Job || r.Kind == commands.Cancel {
			continue
		}
		if err := c.Records.Commands.Close(ctx, r.ID, result); err != nil {
			errs = append(errs, err)
			continue
		}
		closed = append(closed, NewCommand(r))
	}
	return closed, errors.Join(errs...)
}

// Backfill requests the backfill and returns the ticks that it will run, oldest first, by the
// published schedule; dry only returns them.
func (c Control) Backfill(ctx context.Context, command commands.Command, dry bool) ([]time.Time, error) {
	name := command.Job
	command.Kind = commands.Backfill
	command, job, err := c.resolveJob(ctx, command)
	if err != nil {
		return nil, err
	}
	schedule, ok := c.schedule(job)
	if !ok {
		return nil, &ImpossibleError{Msg: "the schedule of " + name + " is too long to be published: give the replicas' configuration with --config"}
	}
	ticks, err := plan(command, name, schedule, time.Now())
	if err == nil && !dry {
		_, err = c.Records.Commands.Do(ctx, command)
	}
	return ticks, err
}

func plan(command commands.Command, name string, schedule schedule.Schedule, now time.Time) ([]time.Time, error) {
	if !command.From.Before(command.To) || !command.From.Before(now) {
		return nil, invalid("from %s to %s: write a range in the past whose start is before its end", stampOrDash(command.From), stampOrDash(command.To))
	}
	command.At = now
	switch ticks := command.Backfill(schedule); {
	case len(ticks) > commands.MaxBackfill:
		return nil, invalid("the range has more than %d ticks of %s: split it", commands.MaxBackfill, name)
	case len(ticks) == 0:
		return nil, &ImpossibleError{Msg: "the schedule of " + name + " has no ticks in that range"}
	default:
		return ticks, nil
	}
}

func stampOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return *Stamp(t)
}

// Release takes the lock that command.Job names from its holder by force, and writes that to
// the audit log. If it returns a lock and an error, only the audit log failed.
func (c Control) Release(ctx context.Context, command commands.Command, token locking.Token) (Lock, error) {
	command.Kind = commands.Release
	held, err := c.Claims.Evict(ctx, command.Job, token, command.Reason)
	switch {
	case errors.Is(err, locking.ErrNotHeld):
		return Lock{}, fmt.Errorf("%w: %w; quorate locks lists what is held", ErrNotFound, err)
	case errors.Is(err, locking.ErrSeveral), errors.Is(err, locking.ErrReason):
		return Lock{}, &InvalidError{Msg: err.Error(), Err: err}
	case err != nil:
		return Lock{}, err
	}
	command.Result = "taken from " + cmp.Or(held.Holder, "an unknown holder")
	return lockRow(held), c.Note(ctx, command)
}

// Note writes a command to the audit log that was done or refused without a request.
func (c Control) Note(ctx context.Context, command commands.Command) error {
	return c.Records.Commands.Note(ctx, command)
}
