package ledger

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestMain(m *testing.M) {
	difftest.Sample()
	goleak.VerifyTestMain(m)
}

// smallKeep is a small bound, so the tests reach it.
const smallKeep = 100

// A cluster is nodes and one replica that uses them.
type cluster struct {
	set    *membership.Set
	locker *redlock.Locker
	*Ledger
}

// connect declares the nodes as new and connects a replica as long as the test.
func connect(tb testing.TB, on redistest.Cluster, mend ...func(*membership.Config)) *cluster {
	tb.Helper()
	c := open(tb, on, mend...)
	if err := c.set.Init(tb.Context(), false); err != nil {
		tb.Fatal(err)
	}
	c.probe(tb)
	return c
}

// open connects a replica to nodes as they are.
func open(tb testing.TB, on redistest.Cluster, mend ...func(*membership.Config)) *cluster {
	tb.Helper()
	cfg := membership.Config{
		Namespace: on.Namespace, Dial: on.Dial, Embedded: on.Dial != nil,
		Timeout: 1500 * time.Millisecond, TTL: 30 * time.Second, Grace: time.Minute,
	}
	for _, u := range on.URLs {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: u})
	}
	for _, m := range mend {
		m(&cfg)
	}
	set, err := membership.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	locker, err := redlock.New(set, redlock.Options{Keep: smallKeep})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = locker.Close()
		_ = set.Close()
	})
	l := New(set)
	l.keep = smallKeep
	return &cluster{set: set, locker: locker, Ledger: l}
}

// probe looks after nodes that are down or blank as long as the test.
func (c *cluster) probe(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.set.Run(ctx) })
	tb.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// begun keeps the ticks of a test the same when the hour turns meanwhile.
var begun = time.Now()

// tick is the n-th instant of the jobs in these tests, all of them due.
func tick(n int) time.Time {
	return begun.Add(-30 * time.Minute).Truncate(time.Hour).Add(time.Duration(n) * time.Second).UTC()
}

func started(job string, n int) ledger.Entry {
	return ledger.Entry{
		Job: job, Tick: tick(n), Trigger: ledger.BySchedule, Replica: "a",
		Outcome: ledger.Running, Started: tick(n),
	}
}

func finished(job string, n int) ledger.Entry {
	e := started(job, n)
	e.Outcome, e.Calls, e.Finished = ledger.Succeeded, 1, e.Started.Add(time.Second)
	return e
}

func skipped(job string, n int, reason string) ledger.Entry {
	return ledger.Entry{
		Job: job, Tick: tick(n), Trigger: ledger.BySchedule, Replica: "a",
		Outcome: ledger.Skipped, Reason: ledger.TextReason(reason),
	}
}

func (c *cluster) claim(tb testing.TB, job string, n int) locking.Lease {
	tb.Helper()
	lease, err := c.locker.TryAcquire(tb.Context(), locking.Request{
		Name: job, Tick: tick(n), TTL: 30 * time.Second, Holder: "a", Note: ledger.EncodeNote(started(job, n)),
	})
	if err != nil {
		tb.Fatalf("claiming tick %d: %v", n, err)
	}
	return lease
}

func (c *cluster) run(tb testing.TB, job string, n int) locking.Lease {
	tb.Helper()
	lease := c.claim(tb, job, n)
	if err := lease.Release(tb.Context(), ledger.EncodeNote(finished(job, n))); err != nil {
		tb.Fatalf("Release = %v", err)
	}
	return lease
}

func (c *cluster) record(tb testing.TB, e ledger.Entry) {
	tb.Helper()
	if _, err := c.Record(tb.Context(), e); err != nil {
		tb.Fatalf("Record = %v", err)
	}
}

func (c *cluster) ticks(tb testing.TB, job string) []ledger.Entry {
	tb.Helper()
	list, err := c.Ticks(tb.Context(), ledger.Query{Job: job, Limit: 100})
	if err != nil {
		tb.Fatalf("Ticks = %v", err)
	}
	return list
}

// outcomes lists the outcomes of the ticks, newest first.
func outcomes(list []ledger.Entry) []ledger.Outcome {
	var out []ledger.Outcome
	for _, e := range list {
		out = append(out, e.Outcome)
	}
	return out
}

func wantOutcomes(tb testing.TB, got []ledger.Entry, want ...ledger.Outcome) {
	tb.Helper()
	if !slices.Equal(outcomes(got), want) {
		tb.Errorf("outcomes = %v, want %v:\n%+v", outcomes(got), want, got)
	}
}
