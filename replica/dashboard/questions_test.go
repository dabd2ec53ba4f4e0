package dashboard_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// The overview of a thousand jobs, one of which ticks each second, answers without a click: which rare one failed a
// day ago, and why, and who has paused another.
func TestOverviewOfAThousandJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().Truncate(time.Second)
	var list []roster.JobInfo
	for n := range 1000 {
		list = append(list, roster.JobInfo{
			Name: fmt.Sprintf("calm-%03d", n), Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: now, ConfigHash: "c1",
		})
	}
	list[0].Name, list[0].Schedule, list[0].Definition = "heartbeat", "@every 1s", `{"spec":"@every 1s"}`
	list[1].Name, list[1].Schedule, list[1].Definition = "invoices", "@every 168h", `{"spec":"@every 168h"}`
	r.must(r.roster.Publish(t.Context(), list))
	for n := range 20 {
		r.ran("calm-500", now.Add(time.Duration(n-20)*time.Hour), "")
	}
	r.ran("invoices", now.Add(-8*24*time.Hour), "")
	r.ran("invoices", now.Add(-25*time.Hour), "no space left on device")
	for n := range 600 {
		r.ran("heartbeat", now.Add(time.Duration(n-600)*time.Second), "")
	}
	_, err := r.commands.Do(t.Context(), commands.Command{Kind: commands.Pause, Job: "calm-700", By: "ann", Reason: "the partner moves"})
	r.must(err)
	r.beat(now) // on a busy machine so many runs take longer than a replica may be silent
	r.shows("/", []string{
		"2 jobs fail: invoices and report", `<tr id="need-invoices">`, "25 h ago · last good 8 days ago", "no space left on device",
		"<b>calm-700</b> <span>the partner moves</span><small>ann", "and 962 more",
	}, []string{`<tr id="need-heartbeat">`})
}

// upNode is the one of the few that is up.
type upNode struct{ fewNodes }

func (n upNode) Inspect(ctx context.Context) []health.Node { return n.fewNodes.Inspect(ctx)[:1] }

// A new cluster counts down to its first tick.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { // of what the rig has recorded nothing is known
		c.Control.Records.Ledger, c.Control.Records.Commands = schedtest.NewLedger(new(locktest.Memory)), new(schedtest.Commands)
		c.Control.Health = upNode{}
	})
	r.shows("/", []string{"No job has had a tick yet. The first is that of report, at ", `<p class="first">First tick <time datetime="`, `" data-count>in `}, nil)
}

// ran lets a job run; it fails if why is not empty.
func (r *rig) ran(job string, at time.Time, why string) {
	r.Helper()
	e := ledger.Entry{Job: job, Tick: at, Outcome: ledger.Running, Trigger: ledger.BySchedule, Replica: "a", Started: at}
	lease, err := r.locks.TryAcquire(context.Background(), locking.Request{Name: job, Tick: at, TTL: time.Minute, Holder: "a", Note: ledger.EncodeNote(e)})
	r.must(err)
	e.Token, e.Outcome, e.Finished, e.Error, e.Calls = lease.Claim().Token, ledger.Succeeded, at.Add(100*time.Millisecond), why, 1
	if why != "" {
		e.Outcome = ledger.Failed
	}
	r.must(lease.Release(context.Background(), ledger.EncodeNote(e)))
	r.must(r.ledger.Store(context.Background(), job, jobs.History{}))
}
