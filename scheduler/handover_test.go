package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// A shift is three replicas of a job with reruns. The one that runs its tick of 10 s drains
// at 12 s.
type shift struct {
	*desks
	stops map[string]func() error
}

func newShift(t *testing.T, list ...jobs.Job) *shift {
	t.Helper()
	s := &shift{desks: newDesks(t), stops: map[string]func() error{}}
	for _, id := range []string{"a", "b", "c"} {
		s.join(id, list...)
	}
	return s
}

func (s *shift) join(id string, list ...jobs.Job) {
	s.t.Helper()
	list = slices.Clone(list)
	for i := range list {
		list[i].Handler = s.handler(list[i].Handler)
	}
	s.stops[id] = s.start(s.replica(id, func(c *scheduler.Config) {
		c.Commands, c.TTL, c.DrainTimeout = s.commands, 15*time.Second, 2*time.Second
	}, list...))
}

// drain stops the replica that runs the tick, and returns when it is gone.
func (s *shift) drain() (id string) {
	s.t.Helper()
	s.mu.Lock()
	id = s.runs[0].Replica
	s.mu.Unlock()
	s.leave(id)
	return id
}

func (s *shift) leave(id string) {
	s.t.Helper()
	s.mu.Lock()
	stop := s.stops[id]
	delete(s.stops, id)
	s.mu.Unlock()
	s.stop(stop)
}

func (s *shift) leaveAll() {
	for _, id := range slices.Collect(maps.Keys(s.stops)) {
		s.leave(id)
	}
}

// attempts returns those of the ledger, oldest first.
func (s *shift) attempts(job string) []ledger.Entry {
	s.t.Helper()
	list, err := s.ledger.Runs(s.t.Context(), ledger.Query{Job: job, Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// tries returns the calls of the function so far, each as attempt and try.
func (s *shift) tries(job string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, run := range s.runs {
		if run.Job == job {
			words = append(words, fmt.Sprintf("%d.%d", run.Attempt, run.Call))
		}
	}
	return strings.Join(words, " ")
}

var errNotYet = errors.New("not yet")

// firstAttempt is a handler with another function for later attempts.
func firstAttempt(first, others jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if run.Attempt == 1 {
			return first(ctx, run)
		}
		return others(ctx, run)
	}
}

func failsNow(context.Context, jobs.Run) error { return errNotYet }

func succeedsNow(context.Context, jobs.Run) error { return nil }

// A drain ends a run, or comes while it waits for its next try. A live replica runs the
// tick within two seconds, with a larger token and the remaining tries.
func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		do    jobs.Handler
		retry int
		calls string // attempt.try
		last  ledger.Outcome
	}{
		{"a run that must be told", firstAttempt(untilEnd, succeedsNow), 1, "1.1 2.1", ledger.Succeeded},
		{"which returns nil", firstAttempt(untilEndSilently, succeedsNow), 1, "1.1 2.1", ledger.Succeeded},
		{"and fails then", firstAttempt(untilEnd, failsNow), 1, "1.1 2.1", ledger.Failed},
		{"in its second try", func(ctx context.Context, run jobs.Run) error {
			if run.Attempt == 1 && run.Call == 2 {
				return untilEnd(ctx, run)
			}
			return errNotYet
		}, 3, "1.1 1.2 2.2 2.3", ledger.Failed},
		{"between two tries", failsNow, 2, "1.1 2.2", ledger.Failed},
		{"between two tries of three", firstAttempt(failsNow, succeedsNow), 3, "1.1 2.2", ledger.Succeeded},
		{"in a try that fails by itself", firstAttempt(func(context.Context, jobs.Run) error {
			time.Sleep(3 * time.Second)
			return errNotYet
		}, succeedsNow), 3, "1.1 2.2", ledger.Succeeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				job := every(t, "1m", "j", tt.do)
				job.OnCrash, job.Group, job.GroupSize = jobs.CrashRerun, "billing", 1
				job.OnSuccess, job.OnFailure = []string{"after"}, []string{"after"}
				job.Retry = jobs.Retry{Attempts: tt.retry, Backoff: time.Second, MaxBackoff: time.Second}
				switch {
				case strings.HasPrefix(tt.name, "between"):
					job.Retry.Backoff, job.Retry.MaxBackoff = 40*time.Second, 40*time.Second
				}
				s := newShift(t, job, every(t, "24h", "after", nil))
				after(t, 62*time.Second)
				drained := s.drain()
				gone := time.Now()
				time.Sleep(50 * time.Second) // until 117 s at the latest
				if got := s.tries("j"); got != tt.calls && !strings.HasPrefix(tt.name, "between two tries") || !strings.HasPrefix(tt.calls, got) {
					t.Errorf("calls %s, want %s", got, tt.calls)
				}
				list := s.attempts("j")
				if len(list) != 2 {
					t.Fatalf("attempts: %+v", list)
				}
				first, second := list[0], list[1]
				if first.Outcome != ledger.Interrupted || first.Reason.Code != ledger.CodeDrained || first.Replica != drained {
					t.Errorf("the first attempt: %+v", first)
				}
				if second.Outcome != tt.last || second.Attempt != 2 || second.Token <= first.Token || second.Trigger != ledger.ByRerun || second.Replica == drained {
					t.Errorf("the second attempt: %+v", second)
				}
				if late := second.Started.Sub(first.Finished); late < 0 || late > 2*time.Second || second.Started.After(gone.Add(2*time.Second)) {
					t.Errorf("it began %v after the first had ended", late)
				}
				if n := len(s.attempts("after")); n != 1 {
					t.Errorf("the job after it ran %d times", n)
				}
				s.leaveAll()
			})
		})
	}
}

// No later tick overtakes one that was handed over: it waits as for a run.
func TestHandedOverGoesFirst(t *testing.T) {
	t.Parallel()
	for _, overlap := range []jobs.Overlap{jobs.OverlapSkip, jobs.OverlapQueue} {
		synctest.Test(t, func(t *testing.T) {
			job := every(t, "10s", "j", firstAttempt(untilEnd, succeedsNow))
			job.OnCrash, job.Overlap = jobs.CrashRerun, overlap
			s := newShift(t, job)
			after(t, 17500*time.Millisecond)
			s.drain() // the run of 10 s ends at 19.5 s
			time.Sleep(7 * time.Second)
			s.leaveAll()
			s.wantTicks("j", "10s succeeded", "20s interrupted: the replica drained, and handed the tick over")
		})
	}
}

// slotFirst is a Locker that records whether the slot of a run is free when its tick is
// handed over.
type slotFirst struct {
	locking.Locker
	taken *[]error
}

type slotFirstLease struct {
	locking.Lease
	slotFirst
}

func (l slotFirst) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	return slotFirstLease{lease, l}, nil
}

func (l slotFirstLease) HandOver(ctx context.Context, note []byte) error {
	slot, err := l.Locker.TryAcquire(ctx, locking.Request{Name: "group:billing:0", TTL: time.Second})
	if *l.taken = append(*l.taken, err); err == nil {
		_ = slot.Release(ctx, nil)
	}
	return l.Lease.HandOver(ctx, note)
}

// The slot of a run is free before its tick can be claimed again.
func TestHandedOverWithoutItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, taken := newCluster(t), []error(nil)
		c.locker = slotFirst{c.locks, &taken}
		job := bill(t, 1, "10s", "j", c.handler(untilEnd))
		job.OnCrash = jobs.CrashRerun
		stop := c.start(c.replica("a", nil, job))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		if len(taken) != 1 || taken[0] != nil {
			t.Errorf("handed over %d times; asking for the slot meanwhile: %v", len(taken), taken)
		}
	})
}

// If all drain, the next replica to start runs the tick.
func TestHandedOverToTheNextStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := every(t, "1m", "j", firstAttempt(untilEnd, succeedsNow))
		job.OnCrash = jobs.CrashRerun
		s := newShift(t, job)
		after(t, 62*time.Second)
		for _, id := range []string{"a", "b", "c"} {
			go s.leave(id)
		}
		after(t, 30*time.Second)
		s.wantTicks("j", "1m0s interrupted: the replica drained, and handed the tick over")
		s.join("d", job)
		after(t, 5*time.Second)
		s.wantTicks("j", "1m0s succeeded")
		s.leaveAll()
	})
}

// A request that was handed over stays open until it is done.
func TestTriggerIsHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := every(t, "24h", "j", firstAttempt(untilEnd, succeedsNow))
		job.OnCrash = jobs.CrashRerun
		s := newShift(t, job)
		after(t, 5*time.Second)
		command := s.do(trigger)
		after(t, 5*time.Second)
		s.drain()
		after(t, 40*time.Second)
		s.result(command.ID, "succeeded")
		if list := s.attempts("j"); len(list) != 2 || list[1].Outcome != ledger.Succeeded {
			t.Errorf("attempts: %+v", list)
		}
		s.leaveAll()
	})
}

// A run with another end is not handed over, nor is a tick that runs at most once.
func TestNotHandedOver(t *testing.T) {
	t.Parallel()
	stubborn := func(err error) jobs.Handler {
		return func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			return err
		}
	}
	for _, tt := range []struct {
		name    string
		do      jobs.Handler
		change  func(*jobs.Job)
		meddle  func(s *shift)
		outcome ledger.Outcome
	}{
		{"success after the drain began", func(context.Context, jobs.Run) error {
			time.Sleep(3 * time.Second)
			return nil
		}, nil, nil, ledger.Succeeded},
		{"its own decision to skip", stubborn(jobs.Skip("nothing to do")), nil, nil, ledger.Skipped},
		{"a permanent error", stubborn(jobs.Permanent(errNotYet)), nil, nil, ledger.Cancelled},
		{"on_crash: skip", untilEnd, func(j *jobs.Job) { j.OnCrash = jobs.CrashSkip }, nil, ledger.Cancelled},
		{"a timeout", untilEnd, func(j *jobs.Job) { j.Timeout = 3 * time.Second }, nil, ledger.TimedOut},
		{"an error of its own", func(context.Context, jobs.Run) error {
			time.Sleep(3 * time.Second)
			return errNotYet
		}, nil, nil, ledger.Failed},
		{"a cancel", func(ctx context.Context, run jobs.Run) error {
			err := untilEnd(ctx, run)
			time.Sleep(3 * time.Second)
			return err
		}, nil, func(s *shift) {
			s.do(commands.Command{Kind: commands.Cancel, Job: "j", Run: ledger.Entry{Job: "j", Tick: s.begun.Add(time.Minute)}.ID(), Reason: "no"})
			after(s.t, 1500*time.Millisecond)
		}, ledger.Cancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				job := every(t, "1m", "j", tt.do)
				job.OnCrash = jobs.CrashRerun
				if tt.change != nil {
					tt.change(&job)
				}
				s := newShift(t, job)
				after(t, 62*time.Second)
				if tt.meddle != nil {
					tt.meddle(s)
				}
				s.drain()
				time.Sleep(30 * time.Second)
				s.leaveAll()
				if list := s.attempts("j"); len(list) != 1 || list[0].Outcome != tt.outcome {
					t.Errorf("attempts: %+v, want one that is %s", list, tt.outcome)
				}
			})
		})
	}
}
