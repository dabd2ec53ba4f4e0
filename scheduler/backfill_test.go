package scheduler_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestBackfillConcurrency: if runs may overlap, the concurrency of a backfill holds for all
// replicas together, within the job's group.
func TestBackfillConcurrency(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		overlap jobs.Overlap
		asked   int
		group   int // size of the job's group; 0: it has none
		want    int
	}{
		{"by default one", jobs.OverlapAllow, 0, 0, 1},
		{"as asked", jobs.OverlapAllow, 3, 0, 3},
		{"no more than the group has", jobs.OverlapAllow, 3, 2, 2},
		{"no more than asked of a group", jobs.OverlapAllow, 2, 4, 2},
		{"one where runs must not overlap", jobs.OverlapSkip, 3, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesks(t)
				var runs atMost
				job := every(t, "1h", "j", d.handler(runs.count(30*time.Second)))
				if job.Overlap = tt.overlap; tt.group > 0 {
					job.Group, job.GroupSize = "g", tt.group
				}
				after(t, 12*time.Hour+time.Minute)
				stop := d.run([]jobs.Job{job}, "a", "b", "c")
				command := d.do(commands.Command{
					Kind: commands.Backfill, Job: "j", Reason: "lost", Concurrency: tt.asked,
					From: d.begun.Add(time.Hour), To: d.begun.Add(13 * time.Hour),
				})
				after(t, 30*time.Minute)
				d.result(command.ID, "12 ticks: 12 succeeded")
				if runs.most != tt.want {
					t.Errorf("%d runs went on at once, want %d", runs.most, tt.want)
				}
				stop()
			})
		})
	}
}

// atMost counts concurrent runs.
type atMost struct {
	mu        sync.Mutex
	now, most int
}

func (m *atMost) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.most = max(m.most, m.now)
}

// count returns a function that takes d.
func (m *atMost) count(d time.Duration) func(context.Context, jobs.Run) error {
	return func(ctx context.Context, _ jobs.Run) error {
		m.add(1)
		defer m.add(-1)
		return wait(ctx, d)
	}
}

// TestBackfillLetsOthersGoFirst: backfill attempts that wait for one of their few slots
// block no others.
func TestBackfillLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesks(t)
		long := func(ctx context.Context, _ jobs.Run) error { return wait(ctx, 45*time.Second) }
		list := []jobs.Job{every(t, "1h", "j", d.handler(long)), every(t, "1m", "k", d.handler(nil))}
		list[0].Overlap = jobs.OverlapAllow
		for i := range list {
			list[i].Group, list[i].GroupSize = "g", 2
		}
		after(t, 12*time.Hour+time.Second)
		stop := d.run(list, "a")
		command := d.do(commands.Command{
			Kind: commands.Backfill, Job: "j", Reason: "lost", From: d.begun.Add(time.Hour), To: d.begun.Add(13 * time.Hour),
		})
		after(t, 30*time.Minute)
		d.result(command.ID, "12 ticks: 12 succeeded")
		for _, e := range d.ticks("k") {
			if late := e.Started.Sub(e.Tick); e.Outcome != ledger.Succeeded || late > time.Second {
				t.Errorf("k at %v: %s %s, %v late", d.at(e.Tick), e.Outcome, e.Reason, late)
			}
		}
		stop()
	})
}
