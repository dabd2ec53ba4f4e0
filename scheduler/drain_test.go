package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// All cases: the run begins at 10 s, the drain at 11 s; DrainTimeout is 20 s,
// StopTimeout 5 s, TTL 3 s.
func TestDrain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		do     jobs.Handler
		abort  time.Duration // after the drain began; 0: never
		ends   time.Duration // when Run returns
		ledger string
		stuck  bool
	}{
		{name: "an idle moment", do: nil, ends: 11 * time.Second, ledger: "10s succeeded"},
		{name: "a run that ends in time", do: lasting(15 * time.Second), ends: 25 * time.Second, ledger: "10s succeeded"},
		{name: "a run that must be told", do: untilEnd, ends: 31 * time.Second, ledger: "10s cancelled: the replica drained"},
		{name: "a run that needs a while to stop", do: slowToStop, ends: 34 * time.Second, ledger: "10s cancelled: the replica drained"},
		{name: "a run that never stops", do: lasting(time.Minute), ends: 37 * time.Second, ledger: "10s running", stuck: true},
		{name: "no patience", do: untilEnd, abort: 2 * time.Second, ends: 13 * time.Second, ledger: "10s cancelled: the replica drained"},
		{name: "no patience with a deaf function", do: lasting(time.Minute), abort: 2 * time.Second, ends: 19 * time.Second, ledger: "10s running", stuck: true},
		{name: "no patience too late", do: slowToStop, abort: 21 * time.Second, ends: 34 * time.Second, ledger: "10s cancelled: the replica drained"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				r := c.replica("r1", nil, every(t, "10s", "j", c.handler(tt.do)))
				stop := c.start(r)
				time.Sleep(11 * time.Second)
				if tt.abort > 0 {
					time.AfterFunc(tt.abort, r.Abort)
				}
				err := stop()
				if got := c.at(time.Now()); got != tt.ends {
					t.Errorf("Run returned at %v, want %v", got, tt.ends)
				}
				stuck, isStuck := errors.AsType[*scheduler.StuckError](err)
				switch {
				case isStuck != tt.stuck, err != nil && !isStuck:
					t.Errorf("Run: %v, want stuck: %t", err, tt.stuck)
				case isStuck && !slices.Equal(stuck.Jobs, []string{"j"}):
					t.Errorf("stuck: %v", stuck.Jobs)
				}
				c.wantTicks("j", tt.ledger)
				if s := r.Snapshot(); s.State != roster.StateStopped {
					t.Errorf("state %q after Run", s.State)
				}
				if list, _ := c.roster.Replicas(t.Context()); len(list) != 0 {
					t.Errorf("still on the roster: %v", list)
				}
				time.Sleep(time.Minute) // the goroutine of the blocked function ends
			})
		})
	}
}

// A tick that waits for its claim when the drain begins is given up at once, and left to
// the other replicas.
func TestDrainEndsClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true}
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		if got := c.at(time.Now()); got != 11*time.Second {
			t.Errorf("Run returned at %v, want at once", got)
		}
		c.wantTicks("j", "10s missed: this replica drained before it could claim the tick")
	})
}

// slowToStop needs three seconds after its context ended.
func slowToStop(ctx context.Context, run jobs.Run) error {
	err := untilEnd(ctx, run)
	time.Sleep(3 * time.Second)
	return err
}

func TestAbortAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r := c.replica("r1", nil, every(t, "10s", "j", c.handler(untilEnd)))
		time.AfterFunc(12*time.Second, r.Abort)
		if err := r.Run(t.Context()); err != nil {
			t.Error(err)
		}
		r.Abort() // harmless
		if got := c.at(time.Now()); got != 12*time.Second {
			t.Errorf("Run returned at %v", got)
		}
		c.saw(1, "draining [j]")
		if err := r.Run(t.Context()); !errors.Is(err, scheduler.ErrRunTwice) {
			t.Errorf("a second Run: %v", err)
		}
	})
}

func TestStatesAndRoster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10s", "j", c.handler(lasting(12*time.Second)))
		job.Func, job.Description = "report", "Sends the report"
		r := c.replica("r1", func(cfg *scheduler.Config) { cfg.Version, cfg.PID = "v1", 7 }, job)
		if s := r.Snapshot(); s.State != roster.StateStopped {
			t.Errorf("state %q before Run", s.State)
		}
		stop := c.start(r)
		time.Sleep(time.Second)
		s := r.Snapshot()
		if s.State != roster.StateReady || len(s.Running) != 0 || len(s.Next) != 1 || c.at(s.Next[0].Tick) != 10*time.Second {
			t.Errorf("idle: %+v", s)
		}
		published, _ := c.roster.Jobs(t.Context())
		if len(published) != 1 || published[0].Func != "report" || published[0].Schedule != "@every 10s" || published[0].Replica != "r1" {
			t.Errorf("published: %+v", published)
		}
		time.Sleep(15 * time.Second) // 16 s
		if s := r.Snapshot(); len(s.Running) != 1 || s.Running[0].Job != "j" || c.at(s.Running[0].Started) != 10*time.Second {
			t.Errorf("busy: %+v", s)
		}
		go func() { _ = stop() }()
		time.Sleep(5 * time.Second) // 21 s
		if s := r.Snapshot(); s.State != roster.StateDraining || len(s.Next) != 0 || len(s.Running) != 1 {
			t.Errorf("draining: %+v", s)
		}
		list, _ := c.roster.Replicas(t.Context())
		if len(list) != 1 || list[0].State != roster.StateDraining || list[0].Version != "v1" || list[0].PID != 7 ||
			!slices.Equal(list[0].Running, []string{"j"}) || c.at(list[0].Started) != 0 {
			t.Errorf("roster: %+v", list)
		}
		time.Sleep(2 * time.Minute)
	})
}

// mute is a Locker whose leases cannot be released.
type mute struct{ locking.Locker }

type muteLease struct{ locking.Lease }

func (m mute) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := m.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	return muteLease{lease}, nil
}

func (muteLease) Release(ctx context.Context, _ []byte) error {
	<-ctx.Done()
	return errors.Join(locking.ErrNoQuorum, ctx.Err())
}

// Nodes that do not answer a release do not make its job stuck.
func TestDrainWithoutNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = mute{c.locks}
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.TTL = 15 * time.Second },
			every(t, "10s", "j", c.handler(untilEnd))))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		if got := c.at(time.Now()); got != 36*time.Second { // drain 20 s, stop 5 s
			t.Errorf("Run returned at %v", got)
		}
		c.saw(1, "finished j 10s cancelled")
	})
}

// until is a schedule that ends.
type until struct {
	schedule.Every
	last time.Time
}

func (u until) Next(after time.Time) time.Time {
	if at := u.Every.Next(after); !at.After(u.last) {
		return at
	}
	return time.Time{}
}

// A tick that no replica may catch up any more is not left to the next one by a drain.
func TestDrainRecordsWhatIsTooLate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		drain time.Duration
		want  []string
	}{
		"it may be caught up": {35 * time.Second, []string{"10s cancelled: the replica drained"}},
		"it may not":          {50 * time.Second, []string{"10s cancelled: the replica drained", "20s missed: this replica drained before it could claim the tick"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := every(t, "10s", "j", c.handler(untilEndOr(10*time.Minute)))
				job.Schedule = until{schedule.Every{Interval: 10 * time.Second}, c.begun.Add(20 * time.Second)}
				job.Overlap, job.CatchUp = jobs.OverlapQueue, jobs.CatchUp{Mode: jobs.CatchUpAll, Window: 20 * time.Second}
				stop := c.start(c.replica("r1", nil, job))
				time.Sleep(tt.drain)
				c.stop(stop)
				c.wantTicks("j", tt.want...)
			})
		})
	}
}
