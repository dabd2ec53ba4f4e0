package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A cluster is stores and the replicas that share them, in a synctest bubble.
type cluster struct {
	t        *testing.T
	locks    locking.Watcher
	locker   locking.Locker // for new replicas
	ledger   storedLedger
	roster   storedRoster
	commands commands.Store // replicas have it only where a test says so
	votes    int            // for each claim
	early    time.Duration  // before the end of the ttl holders treat a lease as ended
	begun    time.Time

	mu     sync.Mutex
	events []string // "replica: event"
	runs   []jobs.Run
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := newStores(t)
	c.t, c.locker, c.begun = t, c.locks, time.Now()
	return c
}

// replica creates a replica of the cluster; change adapts its configuration.
func (c *cluster) replica(id string, change func(*scheduler.Config), list ...jobs.Job) *scheduler.Scheduler {
	c.t.Helper()
	cfg := scheduler.Config{
		Replica:  id,
		Stores:   scheduler.Stores{Locker: c.locker, Ledger: c.ledger, Roster: c.roster, JobSets: c.roster},
		TTL:      3 * time.Second,
		Observer: c.observer(id),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := scheduler.New(cfg, list)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// start runs s until the returned function is called, which returns what Run
// returned.
func (c *cluster) start(s *scheduler.Scheduler) (stop func() error) {
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// stop ends a replica that must drain cleanly.
func (c *cluster) stop(stop func() error) {
	c.t.Helper()
	if err := stop(); err != nil {
		c.t.Errorf("Run: %v", err)
	}
}

// handler records the run and then calls fn, if any.
func (c *cluster) handler(fn jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		c.mu.Lock()
		c.runs = append(c.runs, run)
		c.mu.Unlock()
		if fn == nil {
			return nil
		}
		return fn(ctx, run)
	}
}

func (c *cluster) say(replica, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, replica+": "+fmt.Sprintf(format, args...))
}

// at returns the time since the cluster's begin.
func (c *cluster) at(t time.Time) time.Duration { return t.Sub(c.begun).Round(time.Millisecond) }

// leaseEnd is how its holder writes the end of a lease that the stores keep until then.
func (c *cluster) leaseEnd(at time.Duration) string {
	return jobs.FormatTick(c.begun.Add(at - c.early))
}

func (c *cluster) observer(id string) event.Observer {
	return func(ev event.Event) {
		e, at := ev.Entry, c.at(ev.Entry.OrderKey())
		switch ev.Kind {
		case event.Claimed, event.Lost, event.Retrying:
			c.say(id, "%s %s %v", ev.Kind, e.Job, at)
		case event.Decided:
			c.say(id, "%s %s %v: %s", e.Outcome, e.Job, c.at(e.Tick), e.Reason)
		case event.Overdue:
			c.say(id, "overdue %s since %v", e.Job, c.at(ev.Since))
		case event.Refused:
			stale, _ := errors.AsType[*fence.StaleError](ev.Err)
			c.say(id, "refused %s %v %s by %d", e.Job, at, stale.Resource, stale.Seen-stale.Token)
		case event.Finished:
			c.say(id, "finished %s %v %s %v", e.Job, c.at(e.Tick), e.Outcome, ev.Err)
		case event.ClockJumped:
			c.say(id, "jumped %v", ev.By.Round(time.Second))
		case event.Overslept:
			c.say(id, "overslept %s %v to %v", e.Job, c.at(ev.Since), c.at(ev.Before))
		case event.Updated:
			c.say(id, "updated %v", ev.Diff)
		case event.UpdateFailed:
			c.say(id, "update failed: %v", ev.Err)
		case event.Draining:
			c.say(id, "draining %v", ev.Running)
		}
	}
}

// on calls f for each event of the kind, after the observer of cfg.
func on(cfg *scheduler.Config, kind event.Kind, f func(event.Event)) {
	before := cfg.Observer
	cfg.Observer = func(e event.Event) {
		before(e)
		if e.Kind == kind {
			f(e)
		}
	}
}

// count counts the events with the text.
func (c *cluster) count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, e := range c.events {
		if strings.Contains(e, text) {
			n++
		}
	}
	return n
}

// saw fails unless exactly n events have the text.
func (c *cluster) saw(n int, text string) {
	c.t.Helper()
	if got := c.count(text); got != n {
		c.t.Errorf("%d events %q, want %d; all events:\n%s", got, text, n, strings.Join(c.events[:min(60, len(c.events))], "\n"))
	}
}

// ticks reads the ledger, oldest tick first.
func (c *cluster) ticks(job string) []ledger.Entry {
	c.t.Helper()
	list, err := c.ledger.Ticks(c.t.Context(), ledger.Query{Job: job, Limit: 100_000})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// wantTicks fails unless the ledger has exactly these lines for the job's ticks.
func (c *cluster) wantTicks(job string, want ...string) {
	c.t.Helper()
	var got []string
	for _, e := range c.ticks(job) {
		line := fmt.Sprintf("%v %s", c.at(e.Tick), e.Outcome)
		if why := e.Reason.String(); why != "" {
			line += ": " + why
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("ledger of %s:\n%s\nwant:\n%s", job, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// every is a job on the multiples of the interval.
func every(t *testing.T, interval, name string, handler jobs.Handler) jobs.Job {
	t.Helper()
	schedule, err := schedule.Parse("@every "+interval, schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Job{Name: name, Schedule: schedule, Handler: handler, Spec: "@every " + interval}
}
