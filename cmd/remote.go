package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// printRemote prints a listing of a server, all of it. Err is why there is no server.
func printRemote[R any](ctx context.Context, a App, s *server, err error, path, format string, list func([]R) table[R]) error {
	return printSome(ctx, a, s, err, path, nil, 0, format, list)
}

// printSome is printRemote of what a query asks for, at most so many rows.
func printSome[R any](ctx context.Context, a App, s *server, err error, path string, query url.Values, most int, format string, list func([]R) table[R]) error {
	if err != nil {
		return err
	}
	got, err := rows[R](ctx, s, path, query, most)
	if err != nil && got == nil {
		return err
	}
	if most > 0 {
		got = got[:min(len(got), most)]
	}
	return errors.Join(list(got).print(a.Out, format), err)
}

// showRemote is show for the ticks or runs of a server. Err is why there is none.
func showRemote[R any](ctx context.Context, a App, s *server, err error, path string, sel selection, format string, from source[R]) error {
	if err != nil {
		return err
	}
	var lacking error
	from.read = func(ctx context.Context, q scheduler.Query) ([]R, error) {
		got, err := rows[R](ctx, s, path, selecting(q), q.Limit)
		if got == nil {
			return nil, err
		}
		lacking = err // and what there is is shown
		return got, nil
	}
	return errors.Join(show(ctx, a, sel, format, from), lacking)
}

// selecting is a query as the API takes it.
func selecting(q scheduler.Query) url.Values {
	query := limited(q.Limit)
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Before} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	for _, o := range q.Outcomes {
		query.Add("outcome", string(o))
	}
	for _, t := range q.Triggers {
		query.Add("trigger", string(t))
	}
	for _, c := range q.Reasons {
		query.Add("reason", string(c))
	}
	return query
}

// jobPath is where a server has a job.
func jobPath(job string) string { return "/jobs/" + url.PathEscape(job) }

// remoteLog prints the log of a run.
func (a App) remoteLog(ctx context.Context, s *server, err error, args []string, attempt int, format string) error {
	if err != nil {
		return err
	}
	if len(args) < 2 || !strings.Contains(args[1], "@") {
		return usageError{errors.New("with --server name the run by its id, as quorate runs -o json shows it")}
	}
	var row listing.Log
	query := url.Values{"attempt": {strconv.Itoa(attempt)}}
	if err := s.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(args[1])+"/log?"+query.Encode(), nil, &row); err != nil {
		return err
	}
	return printLog(a.Out, row, format)
}

// act asks a server for an act on a path.
func (s *server) act(ctx context.Context, path string, act scheduler.Act, body map[string]any, answer any) error {
	if act.Reason == "" {
		return usageError{errors.New(`say why with --reason "…": the API takes no act without`)}
	}
	body["reason"] = act.Reason
	return s.call(ctx, http.MethodPost, path, body, answer)
}

func (a App) remoteTrigger(ctx context.Context, s *server, err error, act scheduler.Act, wait bool) error {
	if err != nil {
		return err
	}
	body := map[string]any{"within": act.Within.String()}
	if len(act.Params) > 0 {
		body["params"] = act.Params
	}
	var done listing.Act
	if err := s.act(ctx, jobPath(act.Job)+"/trigger", act, body, &done); err != nil {
		return err
	}
	if !wait {
		a.say("%s: asked for run %s; see quorate runs %s, or quorate audit", act.Job, listing.Text(done.Run), act.Job)
		return nil
	}
	return a.followRemote(ctx, s, done)
}

// followRemote waits until what was triggered is decided, and prints its row.
func (a App) followRemote(ctx context.Context, s *server, act listing.Act) error {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		list, err := rows[listing.Tick](ctx, s, "/runs/"+url.PathEscape(listing.Text(act.Run)), nil, 1)
		switch {
		case err != nil && !errors.Is(err, listing.ErrNotFound) && !errors.Is(err, locking.ErrNoQuorum):
			return err
		case err == nil && len(list) == 0:
			return fmt.Errorf("--server: it has no run %s, though it said that it was asked for", listing.Text(act.Run))
		case err == nil && list[0].Outcome != scheduler.Running:
			return a.ended(list[0].Run)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("stopped waiting; the run was asked for all the same: %w", context.Cause(ctx))
		}
	}
}

// ended prints the row of a run that has ended, and returns an error unless it
// succeeded.
func (a App) ended(row listing.Run) error {
	if err := runTable([]listing.Run{row}).print(a.Out, "table"); err != nil {
		return err
	}
	if row.Outcome != scheduler.Succeeded {
		return fmt.Errorf("run of %s ended as %s", row.Job, row.Outcome)
	}
	return nil
}

// remoteStand pauses or resumes; id, unless it is empty, is that of the pause to end.
func (a App) remoteStand(ctx context.Context, s *server, err error, act scheduler.Act, id string) error {
	if err != nil {
		return err
	}
	path, body := "/"+string(act.Kind), map[string]any{}
	switch {
	case id != "":
		body["id"] = id
	case act.Job != "":
		path = jobPath(act.Job) + path
	case act.Tag != "":
		body["tag"] = act.Tag
	default:
		body["all"] = true
	}
	var done struct {
		Act   listing.Act
		Doubt *string
	}
	if err := s.act(ctx, path, act, body, &done); err != nil {
		return err
	}
	a.sayStood(done.Act.Target(), act.Kind, listing.Text(done.Act.By))
	if done.Doubt != nil {
		a.warn("%s", *done.Doubt)
	}
	return nil
}

func (a App) remoteCancel(ctx context.Context, s *server, err error, act scheduler.Act, waiting bool) error {
	if err != nil {
		return err
	}
	body := map[string]any{"waiting": waiting}
	if act.Run != "" {
		body["run"] = act.Run
	}
	var done struct {
		Runs      []listing.Run
		Withdrawn []listing.Act
	}
	if err := s.act(ctx, jobPath(act.Job)+"/cancel", act, body, &done); err != nil {
		return err
	}
	for _, r := range done.Withdrawn {
		fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, r.At)
	}
	for _, r := range done.Runs {
		fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", listing.Text(r.ID), listing.Text(r.Replica))
	}
	return nil
}

func (a App) remoteBackfill(ctx context.Context, s *server, err error, act scheduler.Act, dry bool, format string) error {
	if err != nil {
		return err
	}
	body := map[string]any{
		"from": act.From.Format(time.RFC3339), "to": act.To.Format(time.RFC3339), "within": act.Within.String(),
		"concurrency": act.Concurrency, "dry_run": dry,
	}
	if dry && act.Reason == "" {
		act.Reason = "dry run"
	}
	var done struct{ Ticks []string }
	if err := s.act(ctx, jobPath(act.Job)+"/backfill", act, body, &done); err != nil {
		return err
	}
	ticks := make([]time.Time, len(done.Ticks))
	for i, at := range done.Ticks {
		ticks[i] = listing.Time(&at)
	}
	if dry {
		return backfillListing(act.Job, ticks).print(a.Out, format)
	}
	a.saidBackfill(act.Job, ticks)
	return nil
}
