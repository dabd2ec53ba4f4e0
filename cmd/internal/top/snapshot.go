package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Bounds of one poll.
const (
	mostTicks   = 400 // the latest, of all jobs
	mostNext    = 200
	mostRunning = 10 // jobs whose run is older than the latest ticks
	pollTimeout = 10 * time.Second
)

// A snapshot is what is known of a cluster.
type snapshot struct {
	nodes    []view.Node
	nodesErr error // why nodes are old or unknown
	replicas []view.Replica
	next     []view.Next
	ticks    []view.Tick // the latest, newest first
	running  []view.Run
	since    time.Time // start of ticks
	cut      bool      // there are earlier ticks
	read     time.Time // when all but the nodes was read; zero: never
	took     time.Duration
	err      error // why the last poll failed
	crash    error // a panic of the last poll
}

// A crash is a panic while reading, with its stack.
type crash struct {
	what  any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("bug: %v; please report it\n%s", c.what, c.stack) }

// guarded calls f and returns a panic as an error, so that the terminal is restored
// before the error is printed.
func guarded(f func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = &crash{what, debug.Stack()}
		}
	}()
	return f()
}

// readSnapshot reads all parts at once. Parts that cannot be read are taken from last.
func readSnapshot(ctx context.Context, s cluster.Cluster, last snapshot, back time.Duration) snapshot {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	began := time.Now()
	now := snapshot{since: began.Add(-back), read: began}
	more := false
	var errs [4]error
	var wg sync.WaitGroup
	for i, read := range []func() error{
		func() (err error) { now.nodes, err = s.Nodes(ctx); return err },
		func() (err error) { now.replicas, err = s.Replicas(ctx); return err },
		func() (err error) { now.next, err = s.Next(ctx, "", began, mostNext); return err },
		func() error {
			p, err := s.Ticks(ctx, view.EntryQuery{Limit: mostTicks, Since: now.since})
			now.ticks, more = p.Items, p.Next != nil
			return err
		},
	} {
		wg.Go(func() { errs[i] = guarded(read) })
	}
	wg.Wait()
	now.took = time.Since(began)
	now.next = firstOfEach(now.next)
	if now.nodesErr = errs[0]; errs[0] != nil {
		now.nodes = last.nodes
	}
	if now.err = cmp.Or(errs[1:]...); now.err == nil {
		now.err = guarded(func() error { return now.addRunning(ctx, s) })
	}
	for _, err := range append(errs[:], now.err) {
		if broken, ok := errors.AsType[*crash](err); ok {
			last.crash = broken
			return last
		}
	}
	if now.cut = more && len(now.ticks) > 0; now.cut {
		now.since = view.Time(&now.ticks[len(now.ticks)-1].Tick)
	}
	if now.err != nil {
		last.nodes, last.nodesErr, last.took, last.err = now.nodes, now.nodesErr, now.took, now.err
		return last
	}
	return now
}

// firstOfEach keeps the first tick of each job, so that frequent jobs do not hide others.
func firstOfEach(ticks []view.Next) []view.Next {
	known := map[string]bool{}
	return slices.DeleteFunc(ticks, func(n view.Next) bool {
		again := known[n.Job]
		known[n.Job] = true
		return again
	})
}

// addRunning finds the running runs: those among the latest ticks, and older ones that
// replicas report.
func (d *snapshot) addRunning(ctx context.Context, s cluster.Cluster) error {
	known := map[string]bool{}
	for _, t := range d.ticks {
		if t.Outcome == ledger.Running {
			known[t.Job] = true
			d.running = append(d.running, t.Run)
		}
	}
	running := view.EntryQuery{Limit: mostRunning, Outcomes: []ledger.Outcome{ledger.Running}}
	asked := 0
	for _, r := range d.replicas {
		for _, job := range r.Running {
			if known[job] || asked == mostRunning {
				continue
			}
			known[job] = true
			asked++
			running.Job = job
			rows, err := cluster.Entries(ctx, running, s.Runs)
			if err != nil && !errors.Is(err, view.ErrNotFound) {
				return err
			}
			d.running = append(d.running, rows...)
		}
	}
	slices.SortStableFunc(d.running, func(x, y view.Run) int { // longest first
		return view.Time(x.Started).Compare(view.Time(y.Started))
	})
	return nil
}
