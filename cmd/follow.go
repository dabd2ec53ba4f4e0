package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

const (
	followEvery = time.Second
	// followFirst is how many entries of the past begin a --follow at most.
	followFirst = 10
	// followLook is how many entries of a job each look reads at least, so that
	// the end of a run is seen that began many ticks ago.
	followLook = 100
)

// A follower reads again and again, and hands over what has ended since, each
// row once.
type follower[R any] struct {
	source[R]
	query scheduler.Query
	first int // how many rows of the past it begins with
	warn  func(format string, args ...any)

	seen  map[string]bool // what the last look has shown; nil before the first
	quiet bool            // a failure was told
	sheet sheet
}

// follow hands rows to show, oldest first, until ctx ends, which is no error.
// While no quorum answers, or no server, it says so and goes on.
func (f *follower[R]) follow(ctx context.Context, show func([]R) error) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		rows, err := f.read(ctx, f.query)
		switch {
		case ctx.Err() != nil:
			return nil
		case f.seen != nil && (errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, errUnreachable)):
			f.complain(err)
		case err != nil:
			return err
		default:
			f.quiet = false
			if err := show(f.fresh(rows)); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *follower[R]) complain(err error) {
	if !f.quiet {
		f.warn("%s; trying again", report(err)[0])
	}
	f.quiet = true
}

// fresh returns what has ended since the last look, oldest first.
func (f *follower[R]) fresh(rows []R) []R {
	seen := make(map[string]bool, len(rows))
	var fresh []R
	for _, row := range rows {
		r := f.run(row)
		if r.Outcome == scheduler.Running {
			continue
		}
		id := fmt.Sprint(r.Job, dash(r.ID), r.Tick, dash(r.Trigger), dash(r.Token), r.Outcome)
		if !f.seen[id] {
			fresh = append(fresh, row)
		}
		seen[id] = true
	}
	if f.seen == nil {
		fresh = fresh[:min(len(fresh), f.first)]
	}
	f.seen = seen
	slices.Reverse(fresh)
	return fresh
}
