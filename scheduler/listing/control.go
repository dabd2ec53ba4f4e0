package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A Control asks for acts for the whole cluster. Acts name their job as people do;
// By and Reason are the caller's to fill in. What is wrong with what was asked is an
// *InvalidError or a *scheduler.ActError, what cannot be done an *ImpossibleError; a job
// that the cluster has not heard of is ErrNotFound.
type Control struct {
	Reader
	// Evict takes the lock of a job, or a plain one, from its holder. With token 0
	// there must be only one.
	Evict func(ctx context.Context, name string, token locking.Token, reason string) (Lock, error)
	// CheckParams, unless nil, returns a *scheduler.ActError if a job, as it was
	// published, does not take the params of a request. Where that is not known, the
	// replica that runs it finds out.
	CheckParams func(job scheduler.JobInfo, params json.RawMessage) error
}

// An InvalidError says what is wrong with what was asked for.
type InvalidError struct{ Msg string }

// Error is the message.
func (e *InvalidError) Error() string { return e.Msg }

// An ImpossibleError says why what was asked for, though well said, cannot be done.
type ImpossibleError struct{ Msg string }

// Error is the message.
func (e *ImpossibleError) Error() string { return e.Msg }

func invalid(format string, args ...any) error {
	return &InvalidError{Msg: fmt.Sprintf(format, args...)}
}

// known returns the act with the key of its job, which the cluster must have heard
// of. What is kept of that may be too old for an act.
func (c Control) known(ctx context.Context, act scheduler.Act) (scheduler.Act, error) {
	c.Kept.Drop()
	if act.Job == "" {
		return act, nil
	}
	d, err := c.Directory(ctx)
	if err != nil {
		return act, err
	}
	act.Job = d.Key(act.Job)
	if err := d.Require(act.Job); err != nil {
		return act, c.requirePaused(ctx, act, err)
	}
	return act, nil
}

// requirePaused returns nil if the act ends the pause of its job, which outlives
// what else is kept of one that was forgotten; otherwise unknown.
func (c Control) requirePaused(ctx context.Context, act scheduler.Act, unknown error) error {
	if act.Kind != scheduler.ActResume {
		return unknown
	}
	open, err := c.Acts.Open(ctx)
	if Whole(err) != nil {
		return err
	}
	if !slices.ContainsFunc(open.Pauses, func(p scheduler.Act) bool { return p.Job == act.Job }) {
		return unknown
	}
	return nil
}

// Trigger asks for one run of a job, now. TriggeredRun of the act that it returns
// tells which; its Job is the key.
func (c Control) Trigger(ctx context.Context, act scheduler.Act) (scheduler.Act, error) {
	act.Kind = scheduler.ActTrigger
	act, err := c.known(ctx, act)
	if err != nil {
		return act, err
	}
	if err := c.fits(ctx, act); err != nil {
		return act, err
	}
	return c.Acts.Do(ctx, act)
}

// fits returns why the job does not take the params of the act.
func (c Control) fits(ctx context.Context, act scheduler.Act) error {
	if len(act.Params) == 0 || c.CheckParams == nil {
		return nil
	}
	d, err := c.Directory(ctx)
	if err != nil {
		return err
	}
	return c.CheckParams(d.Last[act.Job].JobInfo, act.Params)
}

// Stand pauses or resumes a job, a tag or all jobs, as the kind of the act says.
// Doubt says why that may not be what was meant, "" if nothing speaks against it:
// it is done all the same, since jobs may get the tag later.
func (c Control) Stand(ctx context.Context, act scheduler.Act) (done scheduler.Act, doubt string, err error) {
	if act, err = c.known(ctx, act); err != nil {
		return act, "", err
	}
	if doubt, err = c.doubt(ctx, act); err != nil {
		return act, "", err
	}
	done, err = c.Acts.Do(ctx, act)
	return done, doubt, err
}

// Resume ends the pause with the id, whatever it is about. The act has no target. The
// error is ErrNotFound if no such pause stands.
func (c Control) Resume(ctx context.Context, act scheduler.Act, id string) (scheduler.Act, error) {
	open, err := c.Acts.Open(ctx)
	if Whole(err) != nil {
		return act, err
	}
	i := slices.IndexFunc(open.Pauses, func(p scheduler.Act) bool { return p.ID == id })
	var target scheduler.Act
	if i >= 0 {
		target = open.Pauses[i]
	} else if target, err = c.earlier(ctx, act.ID); err != nil {
		return act, err
	}
	if target.ID == "" {
		return act, fmt.Errorf("%w: no pause has the id %s; quorate pauses lists them", ErrNotFound, id)
	}
	act.Kind, act.Job, act.Tag, act.All = scheduler.ActResume, target.Job, target.Tag, target.All
	return c.Acts.Do(ctx, act)
}

// earlier returns the act that was asked for with the id before, zero if there is none.
func (c Control) earlier(ctx context.Context, id string) (scheduler.Act, error) {
	if id == "" {
		return scheduler.Act{}, nil
	}
	audit, err := c.Acts.Audit(ctx, scheduler.KeepAudit)
	if i := slices.IndexFunc(audit, func(a scheduler.Act) bool { return a.ID == id }); i >= 0 {
		return audit[i], nil
	}
	return scheduler.Act{}, Whole(err)
}

func (c Control) doubt(ctx context.Context, act scheduler.Act) (string, error) {
	if act.Kind == scheduler.ActPause {
		d, err := c.Directory(ctx)
		if act.Tag == "" || slices.ContainsFunc(d.Versions, func(v scheduler.Version) bool { return slices.Contains(v.Tags, act.Tag) }) {
			return "", err
		}
		return "no job on these nodes has the " + act.Target(), err
	}
	open, err := c.Acts.Open(ctx)
	err = Whole(err)
	if slices.ContainsFunc(open.Pauses, func(p scheduler.Act) bool { return p.Target() == act.Target() }) {
		return "", err
	}
	return act.Target() + " was not paused", err
}

// A Cancelled is what a cancel has done.
type Cancelled struct {
	// Runs were asked to stop, under the name that their job has now.
	Runs []scheduler.Entry
	// Withdrawn are the triggers and backfills that were closed.
	Withdrawn []scheduler.Act
}

// mostCancelled is how many runs of a job are cancelled at once.
const mostCancelled = 100

// Cancel asks the runs of the act's job that go on to end, or the one that act.Run
// names, and with waiting withdraws its triggers and backfills that are not done.
// The error is ErrNotFound if there was nothing to do.
func (c Control) Cancel(ctx context.Context, act scheduler.Act, waiting bool) (Cancelled, error) {
	act.Kind = scheduler.ActCancel
	name := act.Job
	act, err := c.known(ctx, act)
	if err != nil {
		return Cancelled{}, err
	}
	var done Cancelled
	if waiting {
		if done.Withdrawn, err = c.withdraw(ctx, act); err != nil {
			return done, err
		}
	}
	done.Runs, err = c.cancel(ctx, act, name)
	if err == nil && len(done.Runs)+len(done.Withdrawn) == 0 {
		err = fmt.Errorf("%w: no run of %s goes on; quorate runs lists them", ErrNotFound, name)
	}
	return done, err
}

// cancel asks for the runs of the named job to end. Their ids are those that
// listings show, or those that the nodes know.
func (c Control) cancel(ctx context.Context, act scheduler.Act, name string) (asked []scheduler.Entry, err error) {
	list, err := c.Runs(ctx, name, scheduler.Query{Limit: mostCancelled, Outcomes: []scheduler.Outcome{scheduler.Running}})
	if err != nil {
		return nil, err
	}
	only := act.Run
	for _, e := range list {
		kept := e
		kept.Job = act.Job
		if act.Run = kept.ID(); only != "" && only != e.ID() && only != act.Run {
			continue
		}
		if _, err := c.Acts.Do(ctx, act); err != nil {
			return asked, err
		}
		asked = append(asked, e)
	}
	return asked, nil
}

// withdraw closes the job's triggers and backfills.
func (c Control) withdraw(ctx context.Context, act scheduler.Act) (closed []scheduler.Act, err error) {
	open, err := c.Acts.Open(ctx)
	if Whole(err) != nil {
		return nil, err
	}
	result := "withdrawn by " + act.By
	if act.Reason != "" {
		result += ": " + act.Reason
	}
	var errs []error
	for _, r := range open.Requests {
		if r.Job != act.Job || r.Kind == scheduler.ActCancel {
			continue
		}
		if err := c.Acts.Close(ctx, r.ID, result); err != nil {
			errs = append(errs, err)
			continue
		}
		closed = append(closed, r)
	}
	return closed, errors.Join(errs...)
}
