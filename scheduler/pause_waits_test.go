package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A pausing is a job with a tick that waits, or runs, when the job is paused at 65 s, or 5
// s after a later tick.
type pausing struct {
	name string
	job  func(d *desks, j *jobs.Job)
	// others are further jobs; nil: none
	others func(t *testing.T) []jobs.Job
	places int
	at     time.Duration // of the pause
	want   []string      // the ledger's entries of its ticks up to then
	again  bool          // the first of them runs soon after the pause
}

const pausedTick = "skipped: paused"

// failUntil refuses all claims without a quorum until an instant.
type failUntil struct {
	locking.Locker
	end time.Time
}

func (f failUntil) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if time.Now().Before(f.end) {
		return nil, &locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1}}
	}
	return f.Locker.TryAcquire(ctx, req)
}

var pausings = []pausing{
	{name: "for a run, by queue", at: 125 * time.Second, job: func(_ *desks, j *jobs.Job) {
		j.Overlap, j.Handler = jobs.OverlapQueue, untilEndOr(80*time.Second)
	}, want: []string{"1m0s succeeded", "2m0s " + pausedTick}},
	{name: "for a run, by cancel_previous", at: 125 * time.Second, job: func(_ *desks, j *jobs.Job) {
		j.Overlap, j.Handler = jobs.OverlapCancelPrevious, func(ctx context.Context, run jobs.Run) error {
			err := untilEnd(ctx, run)
			time.Sleep(20 * time.Second)
			return err
		}
	}, want: []string{"1m0s cancelled: run was cancelled: replaced by tick 2000-01-01T00:02:00Z", "2m0s " + pausedTick}},
	{name: "for a slot", job: func(d *desks, j *jobs.Job) {
		d.holdSlot(0, 80*time.Second)
		j.Overlap, j.Group, j.GroupSize = jobs.OverlapQueue, "billing", 1
	}, want: []string{"1m0s " + pausedTick}},
	{
		name: "for a place", job: func(_ *desks, j *jobs.Job) { j.Overlap = jobs.OverlapQueue },
		places: 1, others: func(t *testing.T) (list []jobs.Job) {
			for _, name := range []string{"first", "second"} {
				other := every(t, "1m", name, lasting(20*time.Second))
				other.Priority = 1
				list = append(list, other)
			}
			return list
		}, want: []string{"1m0s " + pausedTick},
	},
	{name: "for nodes that are slow", job: func(d *desks, _ *jobs.Job) {
		d.locker = &scripted{locks: d.locks, slow: 10 * time.Second}
	}, want: []string{"1m0s " + pausedTick}},
	{name: "to be caught up", at: 75 * time.Second, job: func(d *desks, j *jobs.Job) {
		d.locker = failUntil{d.locks, d.begun.Add(80 * time.Second)}
		j.CatchUp = jobs.CatchUp{Mode: jobs.CatchUpAll}
	}, want: []string{"1m0s " + pausedTick}},
	{name: "for the end of another replica's run", job: func(d *desks, j *jobs.Job) {
		j.OnCrash = jobs.CrashRerun
		time.AfterFunc(59*time.Second, func() {
			_, err := d.locks.TryAcquire(d.t.Context(), locking.Request{
				Name: "j", Tick: d.begun.Add(time.Minute), TTL: 20 * time.Second, Mode: locking.AtLeastOnce, Holder: "gone",
			})
			if err != nil {
				d.t.Error(err)
			}
		})
	}, want: []string{"1m0s interrupted"}, again: true},
	{name: "for the next try of its own", job: func(_ *desks, j *jobs.Job) {
		j.Retry = jobs.Retry{Attempts: 2, Backoff: 20 * time.Second}
		j.Handler = func(_ context.Context, run jobs.Run) error {
			if run.Call == 1 {
				return errors.New("not yet")
			}
			return nil
		}
	}, want: []string{"1m0s succeeded"}},
}

// A pause also stops all waiting ticks, but not the tries of a run that has begun.
// Afterwards the next tick runs.
func TestPauseStopsWhatWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range pausings {
		for _, how := range []string{"asked for", "by a reload"} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { tt.check(t, how == "by a reload") })
			})
		}
	}
}

func (p pausing) check(t *testing.T, reload bool) {
	d := newDesks(t)
	j := every(t, "1m", "j", nil)
	p.job(d, &j)
	j.Handler = d.handler(j.Handler)
	list := []jobs.Job{j}
	if p.others != nil {
		list = append(list, p.others(t)...)
	}
	var replicas []*scheduler.Scheduler
	var stops []func() error
	for _, id := range []string{"a", "b"} {
		r := d.replica(id, func(c *scheduler.Config) {
			c.Commands, c.MaxRunning, c.StopTimeout = d.commands, p.places, 30*time.Second
		}, list...)
		replicas, stops = append(replicas, r), append(stops, d.start(r))
	}
	at := max(p.at, 65*time.Second)
	after(t, at)
	set := func(paused bool) {
		if !reload {
			kind := commands.Resume
			if paused {
				kind = commands.Pause
			}
			d.do(commands.Command{Kind: kind, Job: "j", Reason: "stop it"})
			return
		}
		changed := slices.Clone(list)
		if changed[0].Paused = paused; paused {
			changed[0].Hash = "paused"
		}
		for _, r := range replicas {
			if _, err := r.Update(changed); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(true)
	after(t, 2*time.Second)
	d.mu.Lock()
	begun := len(d.runs)
	d.mu.Unlock()
	time.Sleep(38 * time.Second)
	d.mu.Lock()
	for _, run := range d.runs[begun:] {
		if run.Call == 1 {
			t.Errorf("a run of tick %v began more than 2 s after the pause", d.at(run.Tick))
		}
	}
	d.mu.Unlock()
	var got []string
	for _, e := range d.ticks("j") {
		if d.at(e.Tick) < at {
			line := fmt.Sprintf("%v %s", d.at(e.Tick), e.Outcome)
			if !e.Reason.IsZero() {
				line += ": " + e.Reason.String()
			}
			got = append(got, line)
		}
	}
	if !slices.EqualFunc(got, p.want, strings.HasPrefix) {
		t.Errorf("ledger:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(p.want, "\n"))
	}
	set(false)
	after(t, 10*time.Second)
	if first := d.ticks("j")[0]; p.again && (first.Trigger != ledger.ByRerun || first.Outcome != ledger.Succeeded) {
		t.Errorf("soon after the pause the first tick is %+v", first)
	}
	after(t, 3*time.Minute-at%time.Minute-30*time.Second) // between two ticks
	all := d.ticks("j")
	if last := all[len(all)-1]; last.Reason.Code == ledger.CodePaused {
		t.Errorf("after the pause: %+v", last)
	}
	for _, stop := range stops {
		d.stop(stop)
	}
}
