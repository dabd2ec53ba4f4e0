package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// Bounds of what one look at the cluster reads.
const (
	topTicks   = 400 // the latest, of all jobs
	topNext    = 200
	topRunning = 10 // jobs that run longer than the latest ticks go back
	topTimeout = 10 * time.Second
)

// A topSource reads the parts of what top shows: from the nodes, or from a server. With
// an error and rows, rows are missing.
type topSource struct {
	of       string // what is looked at
	remedy   string // what to do where there is no quorum
	nodes    func(context.Context) ([]listing.Node, error)
	replicas func(context.Context) ([]listing.Replica, error)
	next     func(context.Context) ([]listing.Next, error)
	// ticks reads the latest since a time; more says that there were others.
	ticks   func(ctx context.Context, since time.Time) (rows []listing.Tick, more bool, err error)
	running func(ctx context.Context, job string) ([]listing.Run, error)
}

// topSource reads the nodes themselves.
func (c cluster) topSource() topSource {
	return topSource{
		of:     "namespace " + c.Sets[0].Namespace(),
		remedy: "Start the nodes that are down: quorate nodes check says what each lacks.",
		nodes: func(ctx context.Context) ([]listing.Node, error) {
			c.Learn(ctx) // somebody may have changed the list
			return c.Nodes(ctx), nil
		},
		replicas: c.Replicas,
		next: func(ctx context.Context) ([]listing.Next, error) {
			return c.Next(ctx, "", time.Now(), topNext)
		},
		ticks: func(ctx context.Context, since time.Time) ([]listing.Tick, bool, error) {
			p, err := c.Recent(ctx, listing.RecentQuery{Limit: topTicks, Ticks: true, Since: since})
			if listing.Whole(err) != nil {
				return nil, false, err
			}
			rows := make([]listing.Tick, len(p.Entries))
			for i, e := range p.Entries {
				rows[i] = listing.NewTick(e)
			}
			return rows, !p.Next.IsZero(), err
		},
		running: func(ctx context.Context, job string) ([]listing.Run, error) {
			list, err := c.Runs(ctx, job, scheduler.Query{Limit: topRunning, Outcomes: []scheduler.Outcome{scheduler.Running}})
			rows := make([]listing.Run, len(list))
			for i, e := range list {
				rows[i] = listing.NewRun(e)
			}
			return rows, err
		},
	}
}

// topSource asks a server.
func (s *server) topSource() topSource {
	return topSource{
		of:     s.host,
		remedy: "Start the nodes that are down: quorate nodes check, where they are reached, says what each lacks.",
		nodes: func(ctx context.Context) ([]listing.Node, error) {
			return rows[listing.Node](ctx, s, "/nodes", nil, 0)
		},
		replicas: func(ctx context.Context) ([]listing.Replica, error) {
			return rows[listing.Replica](ctx, s, "/replicas", nil, 0)
		},
		next: func(ctx context.Context) ([]listing.Next, error) {
			return rows[listing.Next](ctx, s, "/next", limited(topNext), topNext)
		},
		ticks: func(ctx context.Context, since time.Time) ([]listing.Tick, bool, error) {
			query := limited(topTicks)
			query.Set("since", since.Format(time.RFC3339Nano))
			var page struct {
				Items         []listing.Tick
				Next, Partial *string
			}
			if err := s.call(ctx, http.MethodGet, "/ticks?"+query.Encode(), nil, &page); err != nil {
				return nil, false, err
			}
			return page.Items, page.Next != nil, partly(page.Partial)
		},
		running: func(ctx context.Context, job string) ([]listing.Run, error) {
			query := url.Values{"outcome": {string(scheduler.Running)}, "limit": {fmt.Sprint(topRunning)}}
			return rows[listing.Run](ctx, s, jobPath(job)+"/runs", query, topRunning)
		},
	}
}

// topData is what is known of a cluster.
type topData struct {
	nodes    []listing.Node
	nodesErr error // why those are old, or not known
	replicas []listing.Replica
	next     []listing.Next
	ticks    []listing.Tick // the latest, newest first
	running  []listing.Run
	since    time.Time // the ticks begin here
	cut      bool      // because there were too many
	partial  error     // why some of it is missing
	read     time.Time // when all but the nodes was read; zero: never
	took     time.Duration
	err      error // why it was not since
}

// A crash is a bug met while reading, with where it was.
type crash struct {
	what  any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("bug: %v; please report it\n%s", c.what, c.stack) }

// guarded does f; should it panic, that is the error, so that the terminal can be
// put in order before it is shown.
func guarded(f func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			err = &crash{what, debug.Stack()}
		}
	}()
	return f()
}

// look reads all parts at once and returns what is known then: where something
// cannot be read, what last was known. The error is a crash.
func (s topSource) look(ctx context.Context, last topData, back time.Duration) (topData, error) {
	ctx, cancel := context.WithTimeout(ctx, topTimeout)
	defer cancel()
	began := time.Now()
	now := topData{since: began.Add(-back), read: began}
	more := false
	var errs [4]error
	var wg sync.WaitGroup
	for i, read := range []func() error{
		func() (err error) { now.nodes, err = s.nodes(ctx); return err },
		func() (err error) { now.replicas, err = s.replicas(ctx); return err },
		func() (err error) { now.next, err = s.next(ctx); return err },
		func() (err error) { now.ticks, more, err = s.ticks(ctx, now.since); return err },
	} {
		wg.Go(func() { errs[i] = guarded(read) })
	}
	wg.Wait()
	now.took = time.Since(began)
	now.next = firstOfEach(now.next)
	if now.nodesErr = errs[0]; errs[0] != nil {
		now.nodes = last.nodes
	}
	for i, some := range []bool{now.replicas != nil, now.next != nil, now.ticks != nil} {
		if some {
			now.partial = cmp.Or(now.partial, errs[i+1])
		} else {
			now.err = cmp.Or(now.err, errs[i+1])
		}
	}
	if now.err == nil {
		now.err = guarded(func() error { return s.goingOn(ctx, &now) })
	}
	for _, err := range append(errs[:], now.err) {
		if broken, ok := errors.AsType[*crash](err); ok {
			return last, broken
		}
	}
	if now.cut = more && len(now.ticks) > 0; now.cut {
		now.since = listing.Time(&now.ticks[len(now.ticks)-1].Tick)
	}
	if now.err != nil {
		last.nodes, last.nodesErr, last.took, last.err = now.nodes, now.nodesErr, now.took, now.err
		return last, nil
	}
	return now, nil
}

// firstOfEach keeps the first tick of each job, so that one that ticks often does
// not hide the others.
func firstOfEach(ticks []listing.Next) []listing.Next {
	known := map[string]bool{}
	return slices.DeleteFunc(ticks, func(n listing.Next) bool {
		again := known[n.Job]
		known[n.Job] = true
		return again
	})
}

// goingOn finds the runs that go on: those among the latest ticks, and those that
// replicas say they run and that are older.
func (s topSource) goingOn(ctx context.Context, d *topData) error {
	known := map[string]bool{}
	for _, t := range d.ticks {
		if t.Outcome == scheduler.Running {
			known[t.Job] = true
			d.running = append(d.running, t.Run)
		}
	}
	asked := 0
	for _, r := range d.replicas {
		for _, job := range r.Running {
			if known[job] || asked == topRunning {
				continue
			}
			known[job] = true
			asked++
			rows, err := s.running(ctx, job)
			if err != nil && !errors.Is(err, listing.ErrNotFound) {
				return err
			}
			d.running = append(d.running, rows...)
		}
	}
	slices.SortStableFunc(d.running, func(x, y listing.Run) int { // who has run longest comes first
		return listing.Time(x.Started).Compare(listing.Time(y.Started))
	})
	return nil
}
