package scheduler_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// During a run its replica shows the log and extensions at once; the ledger has them some
// seconds later, and keeps them if the replica dies.
func TestLiveRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		s := c.replica("a", archived(c), every(t, "1h", "j", func(ctx context.Context, run jobs.Run) error {
			for n := range 20 {
				run.Logger.Info("step", "n", n)
				time.Sleep(3 * time.Second)
			}
			return nil
		}))
		stop := c.start(s)
		time.Sleep(time.Hour + 31*time.Second)
		runs, err := c.ledger.Runs(t.Context(), ledger.Query{Job: "j", Limit: 1})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %v", runs, err)
		}
		run := runs[0]
		live, ok := s.Live("j", run.Token)
		if !ok || !strings.HasSuffix(live.Text, "msg=step n=10\n") || live.Run.Outcome != ledger.Running {
			t.Errorf("live: %v, %q, %+v", ok, live.Text, live.Run)
		}
		if b := live.Run.Beats; b == nil || b.Count < 16 || b.Failed != 0 || len(b.Last) != 16 {
			t.Errorf("beats: %+v", b)
		}
		kept, err := c.ledger.Log(t.Context(), "j", run.Tick, run.Token)
		if age := time.Since(kept.At); err != nil || age < 0 || age > 5*time.Second || !strings.HasPrefix(live.Text, kept.Text) || strings.Count(kept.Text, "\n") < 9 {
			t.Errorf("kept %v ago: %q, %v", age, kept.Text, err)
		}
		if _, ok := s.Live("j", run.Token+1); ok {
			t.Error("another token is no run")
		}
		if _, ok := s.Live("other", run.Token); ok {
			t.Error("another job has no run")
		}
		time.Sleep(time.Minute)
		if _, ok := s.Live("j", run.Token); ok {
			t.Error("the run goes on after its end")
		}
		if kept, err = c.ledger.Log(t.Context(), "j", run.Tick, run.Token); err != nil || !kept.At.IsZero() || !strings.HasSuffix(kept.Text, "n=19\n") {
			t.Errorf("at the end %v, %q, %v", kept.At, kept.Text, err)
		}
		done, err := c.ledger.Runs(t.Context(), ledger.Query{Job: "j", Limit: 1})
		if b := done[0].Beats; err != nil || b == nil || b.Count < live.Run.Beats.Count {
			t.Errorf("the ledger has the beats %+v, %v", b, err)
		}
		c.stop(stop)
		if _, ok := s.Live("j", run.Token); ok {
			t.Error("a replica that has stopped runs something")
		}
	})
}

// A countingArchive counts stores.
type countingArchive struct {
	ledger.Archive
	stored int
}

func (a *countingArchive) Store(ctx context.Context, job string, h jobs.History, logs ...ledger.Log) error {
	a.stored++
	return a.Archive.Store(ctx, job, h, logs...)
}

// Only a log that has grown is stored again.
func TestSilentRunsAreNotStored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ lines, want int }{"silent": {0, 0}, "one line": {1, 2}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			archive := &countingArchive{Archive: c.ledger}
			stop := c.start(c.replica("a", func(cfg *scheduler.Config) { cfg.Archive = archive }, every(t, "1h", "j", func(_ context.Context, run jobs.Run) error {
				for range tt.lines {
					run.Logger.Info("line")
				}
				time.Sleep(time.Minute)
				return nil
			})))
			time.Sleep(time.Hour + 2*time.Minute)
			c.stop(stop)
			if archive.stored != tt.want {
				t.Errorf("%s: stored %d times, want %d", name, archive.stored, tt.want)
			}
		})
	}
}

// A pollingLease knows the nodes' answers.
type pollingLease struct{ locking.Lease }

func (l pollingLease) LastPoll() locking.Poll {
	return locking.Poll{Answers: [7]locking.Answer{'+', 'u'}}
}

func (l pollingLease) Claim() locking.Claim {
	claim := l.Lease.Claim()
	claim.Poll = locking.Poll{Rounds: 2, List: 9, Answers: [7]locking.Answer{'+', '+'}}
	return claim
}

type pollingLocker struct{ locking.Locker }

func (l pollingLocker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	return pollingLease{lease}, nil
}

// Each node's answer is stored in the ledger with the run, also with a slot of a group.
func TestPollsAreKept(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"", "g"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			c.locker = pollingLocker{c.locker}
			job := every(t, "1h", "j", func(context.Context, jobs.Run) error {
				time.Sleep(20 * time.Second)
				return nil
			})
			if job.Group = group; group != "" {
				job.GroupSize = 1
			}
			stop := c.start(c.replica("a", archived(c), job))
			time.Sleep(time.Hour + time.Minute)
			c.stop(stop)
			e := c.ticks("j")[0]
			if e.Poll.Letters() != "++" || e.Poll.Rounds != 2 || e.Poll.List != 9 {
				t.Errorf("group %q: the claim: %+v", group, e.Poll)
			}
			if e.Beats == nil || e.Beats.Last[0].Answers != [7]locking.Answer{'+', 'u'} {
				t.Errorf("group %q: the beats: %+v", group, e.Beats)
			}
		})
	}
}
