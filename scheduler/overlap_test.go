package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

func lasting(d time.Duration) jobs.Handler {
	return func(context.Context, jobs.Run) error {
		time.Sleep(d)
		return nil
	}
}

func TestOverlapSkip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lasts  time.Duration
		ledger []string
	}{
		{"a run that ends within the next window", 1300 * time.Millisecond, []string{
			"1s succeeded", "2s succeeded", "3s succeeded", "4s succeeded",
		}},
		{"a run over several ticks", 3500 * time.Millisecond, []string{
			"1s succeeded",
			"2s skipped: overlap: r1 still holds the lease of tick 2000-01-01T00:00:01Z until %a",
			"3s skipped: overlap: r1 still holds the lease of tick 2000-01-01T00:00:01Z until %b",
			"4s succeeded",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
					cfg.ExtendEvery = 700 * time.Millisecond // never when a window closes
				}, every(t, "1s", "j", c.handler(lasting(tt.lasts)))))
				time.Sleep(4950 * time.Millisecond)
				c.stop(stop)
				for i, line := range tt.ledger {
					tt.ledger[i] = strings.NewReplacer("%a", c.leaseEnd(5375*time.Millisecond), "%b", c.leaseEnd(6775*time.Millisecond)).Replace(line)
				}
				c.wantTicks("j", tt.ledger...)
			})
		})
	}
}

// A tick waits for a dead replica's lease within its window; ticks whose window closes
// earlier are skipped and name it.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		time.Sleep(time.Second)
		dead, err := c.locks.TryAcquire(t.Context(), locking.Request{
			Name: "j", Tick: time.Now(), TTL: 2500 * time.Millisecond, Holder: "dead",
			Note: ledger.EncodeNote(ledger.Entry{Outcome: ledger.Running, Replica: "dead"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = dead // never extended, never released; its lease ends at 3.5 s
		a := c.start(c.replica("r1", nil, every(t, "1s", "j", c.handler(nil))))
		b := c.start(c.replica("r2", nil, every(t, "1s", "j", c.handler(nil))))
		time.Sleep(3950 * time.Millisecond)
		c.stop(a)
		c.stop(b)
		c.wantTicks("j",
			"1s interrupted: the lease ended before the run reported an outcome",
			"2s skipped: overlap: dead still holds the lease of tick 2000-01-01T00:00:01Z until 2000-01-01T00:00:03.5Z",
			"3s succeeded", "4s succeeded",
		)
		if at := c.at(c.ticks("j")[2].Started); at < 3500*time.Millisecond {
			t.Errorf("tick 3s started at %v, under the lease of the dead", at)
		}
	})
}

// patient is a job every 10 s with the given first run.
func patient(t *testing.T, c *cluster, policy jobs.Overlap, first jobs.Handler) jobs.Job {
	t.Helper()
	job := every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
		if c.at(run.Tick) == 10*time.Second {
			return first(ctx, run)
		}
		return nil
	}))
	job.Overlap = policy
	return job
}

// With queue the last tick waits for the end of the run, on any replica.
func TestOverlapQueue(t *testing.T) {
	t.Parallel()
	const held = "skipped: overlap: queue holds one tick, a later one came"
	tests := []struct {
		name     string
		replicas int
		lasts    time.Duration
		until    time.Duration
		ledger   []string
		started  time.Duration // of the last tick; 0: not checked
	}{
		{"it ends in time", 2, 4 * time.Second, 25 * time.Second, []string{"10s succeeded", "20s succeeded"}, 20 * time.Second},
		{"one tick waits", 1, 18 * time.Second, 29 * time.Second, []string{"10s succeeded", "20s succeeded"}, 28 * time.Second},
		{"on several replicas", 3, 18 * time.Second, 29 * time.Second, []string{"10s succeeded", "20s succeeded"}, 28 * time.Second},
		{"the last one waits", 3, 45 * time.Second, 59 * time.Second, []string{
			"10s succeeded", "20s " + held, "30s " + held, "40s " + held, "50s succeeded",
		}, 55 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				var stops []func() error
				for i := range tt.replicas {
					stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d", i+1), nil, patient(t, c, jobs.OverlapQueue, lasting(tt.lasts)))))
				}
				time.Sleep(tt.until)
				for _, stop := range stops {
					c.stop(stop)
				}
				c.wantTicks("j", tt.ledger...)
				list := c.ticks("j")
				if started := c.at(list[len(list)-1].Started); started < tt.started || started > tt.started+100*time.Millisecond {
					t.Errorf("the last tick started at %v, want %v", started, tt.started)
				}
			})
		})
	}
}

// The replica of a run dies while a queued tick waits: another one runs the tick once the
// lease has ended.
func TestQueuedBehindTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		time.Sleep(10 * time.Second)
		if _, err := c.locks.TryAcquire(t.Context(), locking.Request{Name: "j", Tick: time.Now(), TTL: 25 * time.Second, Holder: "dead"}); err != nil {
			t.Fatal(err)
		}
		stop := c.start(c.replica("r1", nil, patient(t, c, jobs.OverlapQueue, nil)))
		time.Sleep(29500 * time.Millisecond) // the lease ends at 35 s
		c.stop(stop)
		c.wantTicks("j",
			"10s interrupted: the lease ended before the run reported an outcome",
			"20s skipped: overlap: queue holds one tick, a later one came", "30s succeeded")
		if at := c.at(c.ticks("j")[2].Started); at < 35*time.Second || at > 39100*time.Millisecond {
			t.Errorf("tick 30s started at %v, want within one pause after 35s", at)
		}
	})
}

// With cancel_previous the replica of the run ends its context when the next tick comes,
// which starts after the run's end.
func TestOverlapCancelPrevious(t *testing.T) {
	t.Parallel()
	const cancelled = "cancelled: run was cancelled: replaced by tick 2000-01-01T00:00:20Z"
	tests := []struct {
		name     string
		replicas int
		first    jobs.Handler
		ledger   []string
		started  time.Duration // of the last tick
	}{
		{"a run that ends by itself", 2, lasting(time.Second), []string{"10s succeeded", "20s succeeded", "30s succeeded"}, 30 * time.Second},
		{"on one replica", 1, untilEnd, []string{"10s " + cancelled, "20s succeeded", "30s succeeded"}, 30 * time.Second},
		{"on several", 3, untilEnd, []string{"10s " + cancelled, "20s succeeded", "30s succeeded"}, 30 * time.Second},
		{"a run that needs a while", 3, slowToStop, []string{"10s " + cancelled, "20s succeeded", "30s succeeded"}, 30 * time.Second},
		{"a run that returns nil", 3, untilEndSilently, []string{"10s " + cancelled, "20s succeeded", "30s succeeded"}, 30 * time.Second},
		{"a run that does not listen", 3, lasting(22 * time.Second), []string{
			"10s " + cancelled,
			"20s skipped: overlap: %s still holds the lease of tick 2000-01-01T00:00:10Z until %t",
			"30s succeeded",
		}, 32 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				var stops []func() error
				for i := range tt.replicas {
					stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d", i+1), nil, patient(t, c, jobs.OverlapCancelPrevious, tt.first))))
				}
				time.Sleep(35 * time.Second)
				for _, stop := range stops {
					c.stop(stop)
				}
				list := c.ticks("j")
				_, until, _ := strings.Cut(list[1].Reason.String(), "until ") // as last seen
				tt.ledger[1] = strings.NewReplacer("%s", list[0].Replica, "%t", until).Replace(tt.ledger[1])
				c.wantTicks("j", tt.ledger...)
				if started := c.at(list[len(list)-1].Started); started < tt.started || started > tt.started+100*time.Millisecond {
					t.Errorf("the last tick started at %v, want %v", started, tt.started)
				}
				if list[1].Outcome == ledger.Succeeded && list[1].Started.Before(list[0].Finished) {
					t.Errorf("tick 20s started at %v, tick 10s finished at %v", c.at(list[1].Started), c.at(list[0].Finished))
				}
			})
		})
	}
}

// slowly delays the answer to the first claim of the tick at 10 s.
type slowly struct {
	locking.Locker
	tick  time.Time
	after time.Duration
}

func (s slowly) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if req.Tick.Equal(s.tick) {
		time.Sleep(s.after)
	}
	return s.Locker.TryAcquire(ctx, req)
}

// A run that begins after the tick that replaces it is cancelled at once: its claim was
// slow, or waited for a dead replica.
func TestReplacedBeforeItBegins(t *testing.T) {
	t.Parallel()
	const cancelled = "10s cancelled: run was cancelled: replaced by tick 2000-01-01T00:00:20Z"
	tests := []struct {
		name    string
		onCrash jobs.OnCrash
		slow    time.Duration // to claim the tick at 10 s
		dead    time.Duration // duration of a dead replica's lease; 0: none
	}{
		{"in the middle of a claim", jobs.CrashSkip, 10*time.Second + 500*time.Millisecond, 0},
		{"behind one that died", jobs.CrashRerun, 0, 12 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.locker = slowly{c.locks, c.begun.Add(10 * time.Second), tt.slow}
				job := patient(t, c, jobs.OverlapCancelPrevious, untilEnd)
				job.OnCrash = tt.onCrash
				stop := c.startAll(2, nil, job)
				time.Sleep(10*time.Second - time.Millisecond)
				if tt.dead > 0 {
					c.die(locking.AtLeastOnce, tt.dead)
				}
				time.Sleep(16 * time.Second)
				stop()
				c.wantTicks("j", cancelled, "20s succeeded")
			})
		})
	}
}
