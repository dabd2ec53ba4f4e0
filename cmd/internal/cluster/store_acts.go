package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// asked marks an invalid act as bad usage.
func asked(err error) error {
	_, bad := errors.AsType[*acts.Error](err)
	_, invalid := errors.AsType[*view.InvalidError](err)
	if bad || invalid {
		return failure.Usage(err)
	}
	return err
}

// Trigger implements Acts.
func (s *Store) Trigger(ctx context.Context, act acts.Act) (Request, error) {
	name := act.Job
	act, err := s.Control.Trigger(ctx, act)
	if err != nil {
		return Request{}, asked(err)
	}
	run := view.TriggeredRun(act)
	run.Job = name
	return Request{Run: run.ID(), ended: func(ctx context.Context) (*view.Run, error) { return s.ended(ctx, act, name) }}, nil
}

// ended returns the result of a trigger, nil while it is unknown. It keeps the job's name
// as the user gave it.
func (s *Store) ended(ctx context.Context, act acts.Act, name string) (*view.Run, error) {
	open, err := s.Control.Acts.Open(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.Control.Ledger.Ticks(ctx, ledger.Query{Job: act.Job, Since: act.At, Before: act.At.Add(time.Millisecond), Limit: 10})
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Stream != acts.StreamManual {
			continue
		}
		if e.Outcome == ledger.Running {
			return nil, nil
		}
		e.Job = name
		return asEnded(view.NewRun(e), e.ID())
	}
	for _, still := range append(open.Requests, open.Expired...) {
		if still.ID == act.ID {
			return nil, nil
		}
	}
	return nil, s.withdrawn(ctx, act)
}

// withdrawn returns an error if a request was closed without a run.
func (s *Store) withdrawn(ctx context.Context, act acts.Act) error {
	log, err := s.Control.Acts.Audit(ctx, acts.KeepAudit)
	if err != nil {
		return err
	}
	for _, a := range log {
		if a.ID == act.ID && !a.Closed.IsZero() {
			return fmt.Errorf("%s did not run: %s", act.Job, a.Result)
		}
	}
	return nil
}

// PauseOrResume implements Acts.
func (s *Store) PauseOrResume(ctx context.Context, act acts.Act, id string) (done view.Act, warning string, err error) {
	if id != "" {
		act, err = s.Resume(ctx, act, id)
	} else {
		act, warning, err = s.Control.PauseOrResume(ctx, act)
	}
	if err != nil {
		return done, "", asked(err)
	}
	return view.NewAct(act), warning, nil
}

// Cancel implements Acts.
func (s *Store) Cancel(ctx context.Context, act acts.Act, waiting bool) (Cancelled, error) {
	done, err := s.Control.Cancel(ctx, act, waiting)
	return Cancelled{asRows(done.Runs, view.NewRun), asRows(done.Withdrawn, view.NewAct)}, asked(err)
}

// Backfill implements Acts.
func (s *Store) Backfill(ctx context.Context, act acts.Act, dry bool) (ticks []time.Time, err error) {
	if dry {
		ticks, _, err = s.Planned(ctx, act)
	} else {
		ticks, err = s.Control.Backfill(ctx, act)
	}
	return ticks, asked(err)
}

// Release implements Acts.
func (s *Store) Release(ctx context.Context, act acts.Act, token uint64) (taken view.Lock, warning string, err error) {
	held, err := view.Evict(ctx, s.kept, act.Job, locking.Token(token), act.Reason)
	if errors.Is(err, locking.ErrSeveral) {
		err = failure.Usagef("%w, with --token", err)
	}
	if err != nil {
		return taken, "", err
	}
	act.Result = "taken from " + held.Holder
	if err := s.Note(ctx, act); err != nil {
		warning = "the audit log could not record it: " + err.Error()
	}
	return view.LockRows([]locking.Holding{held})[0], warning, nil
}

// ForgetJob deletes the nodes' data about a job that no live replica serves.
func (s *Store) ForgetJob(ctx context.Context, name string, now time.Time) error {
	names, err := s.Directory(ctx)
	if err != nil {
		return err
	}
	key := names.Key(name)
	published, err := s.removed(ctx, key, now)
	if err != nil {
		return err
	}
	err = view.Forget(ctx, s.kept, key)
	switch unknown := errors.Is(err, locking.ErrUnknownName); {
	case unknown && len(published) == 0:
		return fmt.Errorf("%w: %w; quorate jobs and quorate locks list what there is", view.ErrNotFound, err)
	case err != nil && !unknown:
		return err
	}
	return s.Roster.Unpublish(ctx, published)
}

// removed lists the published versions of a job. It returns an error if a live replica
// may serve one.
func (s *Store) removed(ctx context.Context, key string, now time.Time) ([]scheduler.JobInfo, error) {
	known, err := s.Roster.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.Roster.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(known, func(j scheduler.JobInfo) bool { return j.StoredAs() != key })
	if by := scheduler.ServedBy(versions, live, now); by != "" {
		return nil, fmt.Errorf("%s may still be served by replica %s: remove it from the configuration of all replicas, then wait ten minutes after they have reloaded it, or restart them", key, by)
	}
	return versions, nil
}
