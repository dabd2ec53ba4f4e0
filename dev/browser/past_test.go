package browser_test

import (
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A past is what a job did in the last hour.
type past struct {
	job        string
	every, at  time.Duration // ticks, from the full hour
	took       time.Duration
	odd        map[int]ledger.Outcome // how other ticks ended than well, counted back from the last
	error, why string                 // of those
}

func pasts() []past {
	return []past{
		{job: "sync-orders", every: 5 * time.Minute, took: 50 * time.Second, odd: map[int]ledger.Outcome{6: ledger.TimedOut}, error: "shop 2 does not answer: the run took longer than 1m0s"},
		{job: "send-reminders", every: 10 * time.Minute, took: 20 * time.Second, odd: map[int]ledger.Outcome{2: ledger.Missed}, why: "no quorum: 2 of 5 nodes answered"},
		{job: "price-import", every: 20 * time.Minute, took: 13 * time.Minute},
		{job: "stock-check", every: 15 * time.Minute, took: 4 * time.Minute, odd: map[int]ledger.Outcome{1: ledger.Skipped}, why: "group warehouse already has max_running = 2 runs"},
		{job: "invoices", every: 30 * time.Minute, took: 9 * time.Second, odd: map[int]ledger.Outcome{0: ledger.Failed}, error: "no such table: deliveries"},
		{job: "ledger-export", every: time.Hour, at: 7 * time.Minute, took: 7 * time.Second},
	}
}

// remember gives the cluster a past: claims of its store, whose runs say that they
// were a while ago.
func (c *cluster) remember() {
	c.t.Helper()
	opened := c.open()
	for i, p := range pasts() {
		for n, tick := range p.ticks(time.Now()) {
			c.happened(opened, p.entry(tick, n, i))
		}
	}
}

// ticks of the last hour that are over, the first one first, by how many come after.
func (p past) ticks(now time.Time) func(yield func(int, time.Time) bool) {
	first := now.Add(-2 * time.Hour).Truncate(time.Hour).Add(p.at)
	for first.Before(now.Add(-70 * time.Minute)) {
		first = first.Add(p.every)
	}
	return func(yield func(int, time.Time) bool) {
		for tick := first; tick.Before(now); tick = tick.Add(p.every) {
			if !yield(int(now.Sub(tick)/p.every), tick) {
				return
			}
		}
	}
}

func (p past) entry(tick time.Time, n, i int) ledger.Entry {
	e := ledger.Entry{
		Job: p.job, Tick: tick.UTC(), Trigger: ledger.BySchedule, Outcome: ledger.Succeeded,
		Replica: []string{"web-1", "web-2", "web-3"}[(n*5+i*2+n/3)%3],
	}
	if odd, ok := p.odd[n]; ok {
		e.Outcome, e.Error, e.Reason = odd, p.error, ledger.TextReason(p.why)
	}
	if e.Ran() {
		e.Started = tick.Add(time.Duration(7+i) * time.Millisecond)
		e.Finished = e.Started.Add(p.took + p.took*time.Duration((n*7+i)%5)/8)
		if now := time.Now(); e.Finished.After(now) {
			e.Finished = now
		}
		e.Calls = 1
	}
	return e
}

// happened puts an entry into the store as a replica does.
func (c *cluster) happened(opened store.Cluster, e ledger.Entry) {
	c.t.Helper()
	if !e.Ran() {
		if _, err := opened.Records().Ledger.Record(c.t.Context(), e); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	begun := e
	begun.Outcome, begun.Finished, begun.Error = ledger.Running, time.Time{}, ""
	lease, err := opened.Locker().TryAcquire(c.t.Context(), locking.Request{Name: e.Job, Tick: e.Tick, TTL: 5 * time.Second, Holder: e.Replica, Note: ledger.EncodeNote(begun)})
	if err != nil {
		c.t.Fatal(err)
	}
	e.Votes = lease.Claim().Votes
	if err := lease.Release(c.t.Context(), ledger.EncodeNote(e)); err != nil {
		c.t.Fatal(err)
	}
}
