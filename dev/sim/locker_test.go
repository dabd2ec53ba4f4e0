package sim_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/locking"
)

// A client is a process with its own connection, and a Locker whose doings enter the history.
type client struct {
	world   *sim.World
	process *sim.Process
	conn    connection

	mu     sync.Mutex
	asked  map[string]int                         // attempts, by name and tick
	tried  map[string]int                         // tries of them
	drawn  map[string]int                         // random numbers, by what for
	claims map[string]map[locking.Token]sim.Event // by name
}

// newClient returns a client that connects to a backend.
func newClient(w *sim.World, p *sim.Process, leases time.Duration, to backend) (c *client, err error) {
	c = &client{
		world: w, process: p, asked: map[string]int{}, tried: map[string]int{}, drawn: map[string]int{},
		claims: map[string]map[locking.Token]sim.Event{},
	}
	c.conn, err = to(p, leases, c.value)
	return c, err
}

// add notes what the process does while it lives.
func (c *client) add(what sim.What, e sim.Event) {
	if !c.process.Dead() {
		e.What, e.Replica = what, c.process.Name
		c.world.History.Add(e)
	}
}

// attempt names the attempt that begins.
func (c *client) attempt(req locking.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[about(req)]++
	return c.process.Name + "." + about(req) + "." + strconv.Itoa(c.asked[about(req)])
}

// value is the random value of a try, of which an attempt may make several.
func (c *client) value(req locking.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried[about(req)]++
	return c.process.Name + "." + about(req) + ".try" + strconv.Itoa(c.tried[about(req)])
}

// about names what an attempt is for.
func about(req locking.Request) string { return subject(req.Name, req.Tick) + req.Stream }

func subject(job string, tick time.Time) string {
	if tick.IsZero() {
		return job
	}
	return job + "." + strconv.FormatInt(tick.UnixMilli()%1_000_000, 10)
}

// random is a random duration, for the pause before the next try.
func (c *client) random(job string, tick time.Time, limit time.Duration) time.Duration {
	c.mu.Lock()
	what := subject(job, tick)
	c.drawn[what]++
	n := c.drawn[what]
	c.mu.Unlock()
	return time.Duration(c.world.Seed.Draw(c.process.Name, what, strconv.Itoa(n)).Int64N(int64(limit)))
}

// TryAcquire implements locking.Locker.
func (c *client) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	e := sim.Event{Job: req.Name, Tick: req.Tick, Stream: req.Stream, Claim: c.attempt(req), Rerun: req.Mode == locking.AtLeastOnce, Beside: req.Beside, Direct: req.Direct}
	c.add(sim.Asked, e)
	inner, err := c.conn.locker.TryAcquire(ctx, req)
	if err != nil {
		e.Text = reason(err)
		c.add(sim.Refused, e)
		return nil, err
	}
	e.Token, e.Attempt = uint64(inner.Claim().Token), inner.Claim().Attempt
	c.mu.Lock()
	if c.claims[req.Name] == nil {
		c.claims[req.Name] = map[locking.Token]sim.Event{}
	}
	c.claims[req.Name][inner.Claim().Token] = e
	c.mu.Unlock()
	l := &lease{Lease: inner, c: c, e: e}
	l.add(sim.Granted)
	return l, nil
}

// Watch implements locking.Watcher.
func (c *client) Watch(req locking.Request, start uint64) locking.Watch {
	return sight{c, req, c.conn.locker.Watch(req, start)}
}

// A sight is a look whose doings enter the history.
type sight struct {
	c     *client
	req   locking.Request
	inner locking.Watch
}

func (s sight) Look(ctx context.Context) error {
	err := s.inner.Look(ctx)
	if err == nil || errors.Is(err, locking.ErrSilent) {
		return err
	}
	e := sim.Event{Job: s.req.Name, Tick: s.req.Tick, Stream: s.req.Stream, Text: reason(err)}
	if errors.Is(err, locking.ErrTaken) {
		e.Text = sim.Hint
	}
	s.c.add(sim.Looked, e)
	return err
}

// event is that of the claim that carries a token.
func (c *client) event(job string, token locking.Token) sim.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims[job][token]
}

// reason is the sentinel of an error.
func reason(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return refused.Reason.Error()
	}
	return err.Error()
}

// A lease is one whose doings enter the history.
type lease struct {
	locking.Lease
	c *client
	e sim.Event
}

// add notes what becomes of the lease, with its end as it is now.
func (l *lease) add(what sim.What) {
	e := l.e
	e.Until = l.c.world.History.Since(l.Deadline())
	l.c.add(what, e)
}

func (l *lease) Extend(ctx context.Context) error {
	err := l.Lease.Extend(ctx)
	if err == nil {
		l.add(sim.Extended)
	}
	return err
}

func (l *lease) Release(ctx context.Context, note []byte) error {
	l.add(sim.Ending)
	err := l.Lease.Release(ctx, note)
	if err == nil {
		l.add(sim.Ended)
	}
	return err
}

func (l *lease) HandOver(ctx context.Context, note []byte) error {
	l.add(sim.Handing)
	return l.Lease.HandOver(ctx, note)
}

func (l *lease) Void(ctx context.Context) error {
	l.add(sim.Voiding)
	return l.Lease.Void(ctx)
}
