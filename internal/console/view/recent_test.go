package view_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// recentLedger counts reads.
type recentLedger struct {
	*schedtest.Ledger
	locks                     *locktest.Memory
	reads, stretches, entries atomic.Int64
}

// Skim implements ledger.Skimmer.
func (l *recentLedger) Skim(ctx context.Context, ask []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	all, err := l.Ledger.Skim(ctx, ask, perTick)
	l.reads.Add(1)
	for i, s := range all {
		if ask[i].Limit > 0 {
			l.stretches.Add(1)
		}
		l.entries.Add(int64(len(s.Entries)))
	}
	return all, err
}

// Search implements ledger.Skimmer.
func (l *recentLedger) Search(ctx context.Context, ask []ledger.Stretch) ([]ledger.Skimmed, error) {
	all, err := l.Ledger.Search(ctx, ask)
	l.reads.Add(1)
	for _, s := range all {
		l.entries.Add(int64(len(s.Entries)))
	}
	return all, err
}

// cluster is one whose ledger has the given entries.
func cluster(tb testing.TB, entries []ledger.Entry) (view.Reader, *recentLedger) {
	tb.Helper()
	locks := new(locktest.Memory)
	h := &recentLedger{Ledger: schedtest.NewLedger(locks), locks: locks}
	peers := new(schedtest.Roster)
	known := map[string]bool{}
	for _, e := range entries {
		if _, err := h.Record(context.Background(), e); err != nil {
			tb.Fatal(err)
		}
		if !known[e.Job] {
			known[e.Job] = true
			if err := peers.Publish(context.Background(), []roster.JobInfo{{Name: e.Job, Published: e.Tick, Replica: "a"}}); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return view.Reader{Records: store.Records{Ledger: h, Roster: peers, Commands: new(schedtest.Commands)}}, h
}

var start = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// skipped is a tick of a job, that many seconds after the start.
func skipped(job string, second int, outcome ledger.Outcome, stream string) ledger.Entry {
	return ledger.Entry{
		Job: job, Tick: start.Add(time.Duration(second) * time.Second), Trigger: ledger.BySchedule, Outcome: outcome, Reason: ledger.TextReason("so"), Stream: stream,
	}
}

// The pages of all jobs equal a sort of everything, and every entry is on one page.
func TestRecentIsEverythingSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var all []ledger.Entry
		for j := range rapid.IntRange(0, 6).Draw(rt, "jobs") {
			for range rapid.IntRange(0, 30).Draw(rt, "ticks") {
				e := skipped(fmt.Sprint("j", j), rapid.IntRange(0, 40).Draw(rt, "second"),
					rapid.SampledFrom([]ledger.Outcome{ledger.Skipped, ledger.Missed, ledger.Missed}).Draw(rt, "outcome"),
					rapid.SampledFrom([]string{"", "manual"}).Draw(rt, "stream"))
				if !slices.ContainsFunc(all, func(x ledger.Entry) bool { return x.ID() == e.ID() }) {
					all = append(all, e)
				}
			}
		}
		q := view.EntryQuery{Limit: rapid.IntRange(1, 12).Draw(rt, "limit"), Ticks: rapid.IntRange(0, 5).Draw(rt, "runs") > 0}
		if rapid.Bool().Draw(rt, "filtered") {
			q.Outcomes = []ledger.Outcome{ledger.Skipped}
		}
		if rapid.Bool().Draw(rt, "since") {
			q.Since = start.Add(15 * time.Second)
		}
		var before time.Time
		if rapid.Bool().Draw(rt, "until") {
			before = start.Add(time.Duration(rapid.IntRange(0, 45_000).Draw(rt, "before")) * time.Millisecond)
			q.After = view.Until(before)
		}
		r, _ := cluster(t, all)
		want := ids(slices.DeleteFunc(all, func(e ledger.Entry) bool {
			return !q.Ticks || !(ledger.Query{Outcomes: q.Outcomes, Since: q.Since, Before: before}).Wants(e)
		}))
		slices.Sort(want)
		var got []ledger.Entry
		for pages := 0; ; pages++ {
			p, err := r.Recent(t.Context(), q)
			if err != nil || len(p.Entries) > q.Limit || pages > 400 {
				rt.Fatalf("page %d: %d entries, %v", pages, len(p.Entries), err)
			}
			if q.Ticks && q.Outcomes == nil && !p.Next.IsZero() && len(p.Entries) < q.Limit {
				rt.Fatalf("page %d has %d entries of %d, and there are more", pages, len(p.Entries), q.Limit)
			}
			got = append(got, p.Entries...)
			if p.Next.IsZero() {
				break
			}
			if q.After, err = view.ParseCursor(p.Next.String()); err != nil || q.After != p.Next {
				rt.Fatalf("a cursor is read as %v, %v", q.After, err)
			}
		}
		if !slices.IsSortedFunc(got, func(x, y ledger.Entry) int { return y.OrderKey().Compare(x.OrderKey()) }) {
			rt.Errorf("not sorted: %v", ids(got))
		}
		sorted := ids(got)
		if slices.Sort(sorted); !slices.Equal(sorted, want) {
			rt.Errorf("the pages have\n%v\nwant\n%v", sorted, want)
		}
	})
}

func ids(list []ledger.Entry) []string {
	names := []string{}
	for _, e := range list {
		names = append(names, e.ID())
	}
	return names
}

// A page costs as much, however long the history is, and however many jobs there are.
func TestRecentReadsABoundedPart(t *testing.T) {
	t.Parallel()
	const limit = 20
	for _, tt := range []struct{ jobs, ticks int }{{40, 10}, {40, 400}, {400, 40}} {
		var all []ledger.Entry
		for j := range tt.jobs {
			for n := range tt.ticks {
				all = append(all, skipped(fmt.Sprintf("j%03d", j), 10*n+j%3, ledger.Missed, ""))
			}
		}
		r, l := cluster(t, all)
		for _, q := range []view.EntryQuery{
			{Limit: limit, Ticks: true},
			{Limit: limit, Ticks: true, Outcomes: []ledger.Outcome{ledger.Failed}},
			{Limit: limit}, // there are no runs
		} {
			for pages := range 3 { // the first ones
				l.reads.Store(0)
				l.stretches.Store(0)
				l.entries.Store(0)
				p, err := r.Recent(t.Context(), q)
				if err != nil || p.Next.IsZero() && tt.ticks > 10 {
					t.Fatalf("%d entries, next %v, %v", len(p.Entries), p.Next, err)
				}
				looked, rounds := limit+1, 3
				if !q.Ticks || q.Outcomes != nil {
					looked, rounds = 20*limit, 8
				}
				if l.reads.Load() > int64(rounds) || l.stretches.Load() > int64(looked) || l.entries.Load() > int64(2*looked) {
					t.Errorf("%+v: page %d of %+v took %d reads of %d stretches and %d entries", tt, pages, q, l.reads.Load(), l.stretches.Load(), l.entries.Load())
				}
				q.After = p.Next
			}
		}
	}
}

// A page without matches stops, and the next continues there, however far each job was
// read.
func TestRareEntriesAreFound(t *testing.T) {
	t.Parallel()
	var all []ledger.Entry
	for n := range 400 {
		outcome := ledger.Missed
		if n == 100 {
			outcome = ledger.Skipped
		}
		all = append(all, skipped("busy", n, outcome, ""))
		if n%40 == 0 {
			all = append(all, skipped("calm", n, ledger.Missed, ""))
		}
	}
	r, _ := cluster(t, all)
	q := view.EntryQuery{Limit: 1, Ticks: true, Outcomes: []ledger.Outcome{ledger.Skipped}}
	found, pages := 0, 0
	for ; pages == 0 || !q.After.IsZero(); pages++ {
		p, err := r.Recent(t.Context(), q)
		if err != nil || pages > 400 {
			t.Fatalf("page %d: %v", pages, err)
		}
		found, q.After = found+len(p.Entries), p.Next
	}
	if found != 1 || pages < 3 {
		t.Errorf("%d entries on %d pages, want the one that was skipped, not on the first", found, pages)
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "MTIz", "fHx8", "!", "MXwxfG1hbnVhbA"} {
		if c, err := view.ParseCursor(text); err == nil {
			t.Errorf("%q is read as %v", text, c)
		}
	}
}

// A renamed job has its new name on its page, and a token of each claim tells pages
// apart.
func TestRunsOfAllJobs(t *testing.T) {
	t.Parallel()
	locks := new(locktest.Memory)
	kept := schedtest.NewLedger(locks)
	peers := new(schedtest.Roster)
	if err := peers.Publish(t.Context(), []roster.JobInfo{{Name: "sweep", Key: "cleanup", Replica: "a", Published: start}}); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	for n := range 3 {
		e := ledger.Entry{Job: "cleanup", Tick: at.Add(time.Duration(n) * time.Second), Outcome: ledger.Running, Replica: "a", Started: at}
		lease, err := locks.TryAcquire(t.Context(), locking.Request{Name: e.Job, Tick: e.Tick, TTL: time.Minute, Holder: "a", Note: ledger.EncodeNote(e)})
		if err != nil {
			t.Fatal(err)
		}
		e.Outcome, e.Finished = ledger.Succeeded, at
		if err := lease.Release(t.Context(), ledger.EncodeNote(e)); err != nil {
			t.Fatal(err)
		}
	}
	r := view.Reader{Records: store.Records{Ledger: kept, Roster: peers, Commands: new(schedtest.Commands)}}
	p, err := r.Recent(t.Context(), view.EntryQuery{Limit: 2})
	if err != nil || len(p.Entries) != 2 || p.Entries[0].Job != "sweep" || p.Entries[0].Token <= p.Entries[1].Token {
		t.Fatalf("%+v, %v", p, err)
	}
	q := view.EntryQuery{Limit: 2, After: p.Next}
	if p, err = r.Recent(t.Context(), q); err != nil || len(p.Entries) != 1 || !p.Next.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	each, err := r.Runs(t.Context(), view.EntryQuery{Limit: 10, Each: true})
	if err != nil || len(each.Items) != 3 || each.Items[0].Job != "sweep" {
		t.Errorf("%+v, %v", each, err)
	}
}
