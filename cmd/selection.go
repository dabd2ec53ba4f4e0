package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A selection is what the flags of a listing of ticks or runs ask for.
type selection struct {
	since, until       string
	outcomes, triggers []string
	reasons            []string
	limit              int
	follow             bool
}

// selectionFlags adds the flags of a selection to a listing.
func selectionFlags(c *cobra.Command, s *selection) {
	limitFlag(c, &s.limit, usualRows)
	flags := c.Flags()
	flags.StringVar(&s.since, "since", "", "only ticks from this `time` on: RFC 3339, or how long ago (24h)")
	flags.StringVar(&s.until, "until", "", "only ticks before this `time`, written alike")
	flags.StringSliceVar(&s.outcomes, "outcome", nil, "only these `outcomes`: "+strings.Join(outcomeNames(), ", "))
	flags.StringSliceVar(&s.triggers, "trigger", nil, "only these `triggers`: "+strings.Join(triggerNames(), ", "))
	flags.StringSliceVar(&s.reasons, "reason", nil, "only with a reason of these `codes`: "+strings.Join(codeNames(), ", "))
	completeList(c, "outcome", outcomeNames())
	completeList(c, "trigger", triggerNames())
	completeList(c, "reason", codeNames())
	flags.BoolVarP(&s.follow, "follow", "f", false, "go on listing what has ended, oldest first, until interrupted; JSON as one object per line")
}

func outcomeNames() []string {
	var names []string
	for _, o := range []scheduler.Outcome{
		scheduler.Running, scheduler.Succeeded, scheduler.Failed, scheduler.TimedOut, scheduler.LeaseLost,
		scheduler.Interrupted, scheduler.Cancelled, scheduler.Skipped, scheduler.Missed,
	} {
		names = append(names, string(o))
	}
	return names
}

func codeNames() []string {
	var names []string
	for _, c := range scheduler.Codes() {
		names = append(names, string(c))
	}
	return names
}

func triggerNames() []string {
	var names []string
	for _, t := range []scheduler.Trigger{
		scheduler.BySchedule, scheduler.ByCatchUp, scheduler.ByRerun, scheduler.ByManual, scheduler.ByBackfill, scheduler.ByChain,
	} {
		names = append(names, string(t))
	}
	return names
}

// query returns what the flags ask for, of no job yet.
func (s selection) query(now time.Time) (scheduler.Query, error) {
	q := scheduler.Query{Limit: s.limit}
	var err error
	if q.Since, err = instant("--since", s.since, now); err != nil {
		return q, err
	}
	if q.Before, err = instant("--until", s.until, now); err != nil {
		return q, err
	}
	if q.Outcomes, err = chosen[scheduler.Outcome]("--outcome", s.outcomes, outcomeNames()); err != nil {
		return q, err
	}
	if q.Triggers, err = chosen[scheduler.Trigger]("--trigger", s.triggers, triggerNames()); err != nil {
		return q, err
	}
	q.Reasons, err = chosen[scheduler.Code]("--reason", s.reasons, codeNames())
	return q, err
}

// instant reads the value of a flag: a time, or how long ago one was.
func instant(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usageError{fmt.Errorf("%s %s: write a time such as 2027-01-01T00:00:00Z, or how long ago, such as 24h", flag, text)}
	}
	return at, nil
}

// chosen checks the values of a flag.
func chosen[T ~string](flag string, values, known []string) ([]T, error) {
	var list []T
	for _, v := range values {
		if !slices.Contains(known, v) {
			return nil, usageError{fmt.Errorf("%s %s: write some of %s", flag, v, strings.Join(known, ","))}
		}
		list = append(list, T(v))
	}
	return list, nil
}

// A reader reads what a query of no job asks for, newest first: of several jobs up
// to its limit of each.
type reader func(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error)

// A source is where ticks or runs are listed from.
type source[R any] struct {
	read func(ctx context.Context, q scheduler.Query) ([]R, error) // as a reader
	run  func(R) listing.Run                                       // what the row says of a run
	list func([]R) table[R]
}

// tickSource lists ticks from where entries of the ledger come from.
func tickSource(read reader) source[listing.Tick] {
	return source[listing.Tick]{each(read, listing.NewTick), func(t listing.Tick) listing.Run { return t.Run }, tickTable}
}

// runSource is tickSource of runs.
func runSource(read reader) source[listing.Run] {
	return source[listing.Run]{each(read, listing.NewRun), func(r listing.Run) listing.Run { return r }, runTable}
}

// each reads entries as rows.
func each[R any](read reader, row func(scheduler.Entry) R) func(context.Context, scheduler.Query) ([]R, error) {
	return func(ctx context.Context, q scheduler.Query) ([]R, error) {
		entries, err := read(ctx, q)
		return asRows(entries, row), err
	}
}

func asRows[R any](entries []scheduler.Entry, row func(scheduler.Entry) R) []R {
	rows := make([]R, len(entries))
	for i, e := range entries {
		rows[i] = row(e)
	}
	return rows
}

// show prints what the selection asks for, once or on and on.
func show[R any](ctx context.Context, a App, s selection, format string, from source[R]) error {
	q, err := s.query(time.Now())
	if err != nil {
		return err
	}
	if s.follow {
		q.Limit = max(s.limit, followLook)
		f := follower[R]{source: from, query: q, first: min(s.limit, followFirst), warn: a.warn}
		return f.follow(ctx, func(rows []R) error { return from.list(rows).stream(a.Out, format, &f.sheet) })
	}
	rows, err := from.read(ctx, q)
	if err != nil {
		return err
	}
	return from.list(rows[:min(len(rows), q.Limit)]).print(a.Out, format)
}
