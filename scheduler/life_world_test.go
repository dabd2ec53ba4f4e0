package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// The tables are about the second tick of a job that comes every minute. Its window closes
// after lifeWindow; events come lifeEvent after it.
const (
	lifeTick   = 2 * time.Minute
	lifeWindow = 20 * time.Second
	lifeEvent  = 5 * time.Second
)

// A life is a replica with job j, and events for the tick.
type life struct {
	*desks
	cfg    scheduler.Config
	job    jobs.Job
	others []jobs.Job
	answer func(locking.Request) error // of the nodes; nil: their own
	called bool                        // the function of the tick was called

	open chan struct{} // closed when the tick's wait ends
	goOn func()        // closes it

	replica *scheduler.Scheduler
	stop    func() error
}

func newLife(t *testing.T) *life {
	t.Helper()
	l := &life{desks: newDesks(t), job: every(t, "1m", "j", nil), open: make(chan struct{})}
	l.goOn = sync.OnceFunc(func() { close(l.open) })
	l.cfg.Window, l.cfg.TTL, l.cfg.DrainTimeout, l.cfg.StopTimeout = lifeWindow, 3*time.Second, 2*time.Second, 5*time.Second
	return l
}

func (l *life) start() {
	l.locker = gate{l.locker, l}
	fn := l.job.Handler
	l.job.Handler = l.handler(func(ctx context.Context, run jobs.Run) error {
		if l.isIt(run.Tick) {
			l.mu.Lock()
			l.called = true
			l.mu.Unlock()
		}
		if fn == nil {
			return nil
		}
		return fn(ctx, run)
	})
	l.replica = l.desks.replica("r1", func(c *scheduler.Config) {
		own := l.cfg
		own.Replica, own.Locker, own.Ledger, own.Roster, own.JobSets, own.Observer, own.Commands =
			c.Replica, c.Locker, c.Ledger, c.Roster, c.JobSets, c.Observer, l.commands
		*c = own
	}, append(l.others, l.job)...)
	l.stop = sync.OnceValue(l.desks.start(l.replica))
}

func (l *life) isIt(tick time.Time) bool { return l.at(tick) == lifeTick }

// during is a function that lasts as long as the tick has to wait, in the runs of a tick.
func (l *life) during(tick time.Duration) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if l.at(run.Tick) != tick {
			return nil
		}
		select {
		case <-l.open:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lasting is a function that lasts a second for the tick: one that returns at once may end before a
// later tick cancels it, or not.
func (l *life) lasting(ctx context.Context, run jobs.Run) error {
	if !l.isIt(run.Tick) {
		return nil
	}
	return untilEndOr(time.Second)(ctx, run)
}

// before is a job that comes a second before the tick.
func (l *life) before(fn jobs.Handler) jobs.Job {
	l.t.Helper()
	schedule, err := schedule.Parse("59 1 * * * *", schedule.Options{Location: time.UTC})
	if err != nil {
		l.t.Fatal(err)
	}
	return jobs.Job{Name: "i", Schedule: schedule, Handler: fn}
}

// hang delays the nodes' answer to some requests, and then returns this.
func (l *life) hang(which func(locking.Request) bool, then error) {
	l.answer = func(req locking.Request) error {
		if !which(req) {
			return nil
		}
		<-l.open
		return then
	}
}

// refuse makes the nodes refuse the tick for why, until its wait ends.
func refuse(why error) func(*life) {
	return func(l *life) {
		l.answer = func(req locking.Request) error {
			select {
			case <-l.open:
				return nil
			default:
			}
			if !l.isIt(req.Tick) {
				return nil
			}
			return &locking.AcquireError{Reason: why, Name: req.Name, Holder: "r9", HolderTick: l.begun.Add(time.Minute)}
		}
	}
}

// A gate is a Locker with the answers of a life.
type gate struct {
	locking.Locker
	l *life
}

func (g gate) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if g.l.answer != nil {
		if err := g.l.answer(req); err != nil {
			return nil, err
		}
	}
	return g.Locker.TryAcquire(context.WithoutCancel(ctx), req)
}

// eligible keeps many other replicas alive, so r1 is rarely the first in rank.
func (l *life) eligible() {
	for range 36 {
		for n := range 40 {
			_, _ = l.roster.Beat(context.Background(), roster.Replica{ID: fmt.Sprint("other ", n)})
		}
		time.Sleep(5 * time.Second)
	}
}

// elsewhere makes replica r9 run the tick, and die or end it.
func (l *life) elsewhere() {
	time.Sleep(lifeTick - time.Second)
	_, err := l.locks.TryAcquire(context.Background(), locking.Request{
		Name: "j", Tick: l.begun.Add(lifeTick), TTL: 100 * time.Second, Mode: locking.AtLeastOnce, Holder: "r9",
		Note: ledger.EncodeNote(ledger.Entry{Outcome: ledger.Running, Replica: "r9"}),
	})
	if err != nil {
		l.t.Error(err)
	}
}

// The waits of a tick on a replica, and its run.
var lifeWaits = map[string]scene{
	"an earlier tick to be decided": {set: func(l *life) {
		l.hang(func(req locking.Request) bool { return l.at(req.Tick) == time.Minute }, &locking.AcquireError{Reason: locking.ErrDone, Name: "j"})
	}},
	"its delay by rank": {set: func(l *life) {
		l.cfg.Stagger = 3 * time.Second
		go l.eligible()
	}},
	"a run of its job here": {set: func(l *life) { l.job.Handler = l.during(time.Minute) }},
	"a run permit": {set: func(l *life) {
		l.cfg.MaxRunning = 1
		l.others = append(l.others, l.before(l.during(lifeTick-time.Second)))
	}},
	"a claim permit": {set: func(l *life) {
		l.cfg.MaxClaims = 1
		l.others = append(l.others, l.before(func(context.Context, jobs.Run) error { return nil }))
		l.hang(func(req locking.Request) bool { return req.Name == "i" }, nil)
	}},
	"the nodes' answer": {set: func(l *life) {
		l.job.Handler = l.lasting
		l.hang(func(req locking.Request) bool { return l.isIt(req.Tick) }, nil)
	}},
	"an earlier run elsewhere": {set: refuse(locking.ErrTaken)},
	"a quorum":                 {set: refuse(locking.ErrNoQuorum)},
	"a quorum, to be caught up": {set: func(l *life) {
		l.cfg.Window, l.job.CatchUp.Mode = time.Second, jobs.CatchUpAll
		refuse(locking.ErrNoQuorum)(l)
	}},
	"its own run elsewhere, to run it again": {set: func(l *life) {
		l.job.OnCrash = jobs.CrashRerun
		go l.elsewhere()
	}},
	"a slot of its group": {set: func(l *life) {
		l.job.Group, l.job.GroupSize = "billing", 1
		go func() {
			time.Sleep(lifeTick - time.Second)
			lease := l.holdSlot(0, 5*time.Minute)
			<-l.open
			_ = lease.Void(context.Background())
		}()
	}},
	"its function": {set: func(l *life) { l.job.Handler = l.during(lifeTick) }},
	"the next call of its function": {set: func(l *life) {
		// The pause is at random between the half and the whole: after all events, before the end.
		l.job.Retry = jobs.Retry{Attempts: 2, Backoff: 3 * time.Minute, MaxBackoff: 3 * time.Minute}
		l.job.Handler = func(_ context.Context, run jobs.Run) error {
			if l.isIt(run.Tick) && run.Call == 1 {
				return errors.New("not yet")
			}
			return nil
		}
	}},
}

func catchUp(mode jobs.CatchUpMode) func(*life) {
	return func(l *life) { l.job.CatchUp.Mode = mode }
}

func overlap(policy jobs.Overlap) func(*life) {
	return func(l *life) { l.job.Overlap = policy }
}

// The events meanwhile.
var lifeEvents = map[string]scene{
	"that comes":                     {at: lifeEvent, do: func(l *life) { l.goOn(); time.Sleep(3 * time.Minute) }},
	"window closes":                  {at: lifeWindow - time.Second},
	"window closes, `catch_up: all`": {at: lifeWindow - time.Second, set: catchUp(jobs.CatchUpAll)},
	"`catch_up.window` closes": {at: 41 * time.Second, set: func(l *life) {
		l.job.CatchUp = jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 40 * time.Second}
	}},
	"next tick, `catch_up: last`":  {at: time.Minute - time.Second, set: catchUp(jobs.CatchUpLast)},
	"next tick, `queue`":           {at: time.Minute - time.Second, set: overlap(jobs.OverlapQueue)},
	"next tick, `cancel_previous`": {at: time.Minute - time.Second, set: overlap(jobs.OverlapCancelPrevious)},
	"job is paused": {at: lifeEvent, do: func(l *life) {
		l.do(commands.Command{Kind: commands.Pause, Job: "j", Reason: "stop it"})
	}},
	"job is removed": {at: lifeEvent, do: func(l *life) {
		l.update(l.replica, append(slices.Clone(l.others), every(l.t, "1h", "k", untilEnd))...)
	}},
	"replica drains": {at: lifeEvent, do: drains},
}

func drains(l *life) {
	go func() { _ = l.stop() }()
	time.Sleep(time.Second)
}

// Permanent answers of the nodes.
var lifeAnswers = map[string]scene{
	"granted":                        {},
	"the tick is done, or another's": {set: refuse(locking.ErrDone)},
	"a later tick was claimed":       {set: refuse(locking.ErrSuperseded)},
	"a quorum remembers too little":  {set: refuse(locking.ErrUnvouched)},
	"they refuse this replica":       {set: refuse(locking.ErrRefused)},
	"an earlier run has the lock":    {set: refuse(locking.ErrTaken)},
	"competitors divide the votes":   {set: refuse(locking.ErrSplit)},
	"too few answer":                 {set: refuse(locking.ErrNoQuorum)},
	"too late for a lease":           {set: refuse(locking.ErrTooSlow)},
	"this clock is ahead":            {set: refuse(locking.ErrFuture)},
	"a node's clock is ahead":        {set: refuse(locking.ErrNodeAhead)},
}

var lifeWindows = map[string]scene{
	"in its window":               {at: lifeEvent},
	"at its end":                  {at: lifeWindow - time.Second},
	"at its end, `catch_up: all`": {at: lifeWindow - time.Second, set: catchUp(jobs.CatchUpAll)},
	"at its end, `queue`":         {at: lifeWindow - time.Second, set: overlap(jobs.OverlapQueue)},
}

// returning is a run that ends at once.
func returning(err error) scene {
	return scene{set: func(l *life) {
		l.job.Handler = func(context.Context, jobs.Run) error { return err }
	}}
}

// going is a run that lasts until its context ends.
func going(s scene) scene {
	set := s.set
	s.set = func(l *life) {
		l.job.Handler = l.during(lifeTick)
		if set != nil {
			set(l)
		}
	}
	return s
}

// The ends of a run.
var lifeRuns = map[string]scene{
	"returns":                  returning(nil),
	"returns an error":         returning(errors.New("no")),
	"returns `jobs.Skip`":      returning(jobs.Skip("nothing to do")),
	"returns `jobs.Permanent`": returning(jobs.Permanent(errors.New("no"))),
	"panics": {set: func(l *life) {
		l.job.Handler = func(context.Context, jobs.Run) error { panic("no") }
	}},
	"exceeds its timeout, returns nil": {set: func(l *life) {
		l.job.Timeout, l.job.Handler = time.Second, untilEndSilently
	}},
	"exceeds its timeout":     going(scene{set: func(l *life) { l.job.Timeout = time.Second }}),
	"exceeds `lock.max_hold`": going(scene{set: func(l *life) { l.cfg.MaxHold = 3 * time.Second }}),
	"cannot extend its lease": going(scene{set: func(l *life) { l.locker = fixedLeases{l.locks} }}),
	"is cancelled by somebody": going(scene{do: func(l *life) {
		l.desks.do(commands.Command{Kind: commands.Cancel, Job: "j", Run: "j@20000101T000200.000Z", Reason: "stop it"})
	}}),
	"is replaced, `cancel_previous`": going(scene{at: time.Minute, set: overlap(jobs.OverlapCancelPrevious)}),
	"meets a drain":                  going(scene{do: drains}),
}

var lifeCrashes = map[string]scene{
	"`on_crash: skip`":  {at: lifeEvent},
	"`on_crash: rerun`": {at: lifeEvent, set: func(l *life) { l.job.OnCrash = jobs.CrashRerun }},
}
