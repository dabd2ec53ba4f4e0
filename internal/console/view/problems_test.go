package view_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	listing "github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// problemsOf reads until nothing is left, as an overview of so many of the latest ticks does.
func problemsOf(t *testing.T, p *listing.Problems, r listing.Reader, now time.Time, rows int) map[string]listing.JobProblems {
	t.Helper()
	for range 100 {
		page, err := r.Recent(t.Context(), listing.EntryQuery{Limit: rows, Ticks: true, Since: now.Add(-time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		from := now.Add(-time.Hour)
		if !page.Next.IsZero() {
			from = page.Entries[len(page.Entries)-1].OrderKey().Add(time.Millisecond)
		}
		list, err := p.Read(t.Context(), r, page.Entries, from, now)
		if err != nil {
			t.Fatal(err)
		}
		all, unread := map[string]listing.JobProblems{}, false
		for _, one := range list {
			all[one.Job], unread = one, unread || one.Unread
		}
		if !unread {
			return all
		}
	}
	t.Fatal("there is always more to read")
	return nil
}

// Frequent jobs do not push the failure of a nightly one out of the count, nor their own of
// some hours ago; what is more than a day old is not counted.
func TestProblemsOfADay(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	entry := func(job string, ago time.Duration, o ledger.Outcome) ledger.Entry {
		return ledger.Entry{Job: job, Tick: now.Add(-ago), Outcome: o, Reason: ledger.TextReason(job)}
	}
	var entries []ledger.Entry
	for n := range 900 {
		o := ledger.Skipped
		if n >= 800 {
			o = ledger.Missed
		}
		entries = append(entries, entry("busy", time.Duration(n)*10*time.Second, o))
	}
	entries = append(entries, entry("nightly", 20*time.Hour, ledger.Missed), entry("nightly", 25*time.Hour, ledger.Missed), entry("fine", time.Hour, ledger.Skipped))
	r, _ := cluster(t, entries)
	got := problemsOf(t, new(listing.Problems), r, now, 50)
	if n := got["busy"].Count[listing.ProblemMissed]; n != 100 || got["nightly"].Count[listing.ProblemMissed] != 1 || len(got) != 3 {
		t.Errorf("%+v", got)
	}
	last := got["busy"].Last[listing.ProblemMissed]
	if !last.Tick.Equal(now.Add(-8000*time.Second)) || !got["nightly"].Last[listing.ProblemMissed].Tick.Equal(now.Add(-20*time.Hour)) {
		t.Errorf("the latest are %v and %+v", last.Tick, got["nightly"])
	}
}

// Whatever comes between two calls, also late or while another run is open, each call
// counts what a first one would, once it has read everything again.
func TestProblemsAreCountedOnce(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for job := range 7 {
		entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", job), Tick: now.Add(-48 * time.Hour), Outcome: ledger.Skipped})
	}
	r, store := cluster(t, entries)
	kept := new(listing.Problems)
	add := func(job int, at time.Time) {
		if _, err := store.Record(t.Context(), ledger.Entry{Job: fmt.Sprint("job-", job), Tick: at, Outcome: ledger.Missed, Reason: ledger.TextReason("x")}); err != nil {
			t.Fatal(err)
		}
	}
	for step := range 30 {
		now = now.Add(7 * time.Minute)
		for n := range step % 9 * 30 {
			add((step*n)%7, now.Add(-time.Duration(n)*time.Second))
		}
		add(step%7, now.Add(-time.Duration(step)*20*time.Minute)) // late
		problemsOf(t, kept, r, now, 1+step%4*40)
	}
	now = now.Add(time.Minute)
	problemsOf(t, kept, r, now, 10)
	now = now.Add(6 * time.Minute)
	got, want := problemsOf(t, kept, r, now, 10), problemsOf(t, new(listing.Problems), r, now, 10)
	for job, w := range want {
		g := got[job]
		if g.Count != w.Count || !g.Last[listing.ProblemMissed].Tick.Equal(w.Last[listing.ProblemMissed].Tick) || w.Count[listing.ProblemMissed] == 0 {
			t.Errorf("%s: %v at %v, want %v at %v", job, g.Count, g.Last[listing.ProblemMissed].Tick, w.Count, w.Last[listing.ProblemMissed].Tick)
		}
	}
}

// Each call reads a bounded number of entries, and says of which jobs it lacks some; in a
// cluster at rest the next one reads nothing.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for n := range 6 {
		for i := range 990 {
			entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", n), Tick: now.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Missed})
		}
	}
	r, store := cluster(t, entries)
	p := new(listing.Problems)
	first, err := p.Read(t.Context(), r, nil, now.Add(time.Minute), now)
	if err != nil {
		t.Fatal(err)
	}
	if n := store.entries.Load(); n > 2*5000 {
		t.Errorf("%d entries were read at once", n)
	}
	lacks := func(p listing.JobProblems) bool { return p.Unread && p.Since.After(now.Add(-23*time.Hour)) }
	if !slices.ContainsFunc(first, lacks) {
		t.Errorf("no job lacks entries: %+v", first)
	}
	for job, one := range problemsOf(t, p, r, now, 100) {
		if one.Count[listing.ProblemMissed] != 990 {
			t.Errorf("%s: %d", job, one.Count[listing.ProblemMissed])
		}
	}
	page, err := r.Recent(t.Context(), listing.EntryQuery{Limit: 400, Ticks: true, Since: now.Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	before := store.reads.Load()
	if _, err := p.Read(t.Context(), r, page.Entries, page.Entries[len(page.Entries)-1].OrderKey().Add(time.Millisecond), now); err != nil || store.reads.Load() != before {
		t.Errorf("%d further reads, %v", store.reads.Load()-before, err)
	}
}

// A view reads a bounded number of entries however long the history is, apart from the
// first one and one every few minutes. Each reads on, and what it says is so.
func TestProblemsOfEachViewAreBounded(t *testing.T) {
	t.Parallel()
	for _, each := range []int{30, 60} {
		start := time.Now().Truncate(time.Second)
		var entries, latest []ledger.Entry
		for i := range each {
			for n := range 300 {
				entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", n), Tick: start.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Missed})
			}
			if i == 1 {
				latest = slices.Clone(entries)
			}
		}
		r, store := cluster(t, entries)
		p := new(listing.Problems)
		lacking := 0
		for view := range 100 {
			now := start.Add(time.Duration(view/50) * 6 * time.Minute)
			store.entries.Store(0)
			list, err := p.Read(t.Context(), r, latest, start.Add(-time.Minute), now)
			if err != nil {
				t.Fatal(err)
			}
			if n := store.entries.Load(); view%50 > 0 && n > 220 || n > 5000 {
				t.Errorf("view %d of %d entries of each job: %d entries were read", view, each, n)
			}
			lacking = 0
			for _, one := range list {
				if one.Unread {
					lacking++
				}
				counted, known := one.Count[listing.ProblemMissed], each
				if one.Unread {
					known = int(start.Sub(one.Since)/time.Minute) + 1
				}
				if counted != known || counted < 2 {
					t.Fatalf("view %d: %d misses of %s are counted, %d are known", view, counted, one.Job, known)
				}
			}
		}
		if lacking > 0 {
			t.Errorf("of %d jobs not all is known after 100 views", lacking)
		}
	}
}

// In a cluster with many jobs and a long history the first view knows the whole 24 hours, since
// only problems are read.
func TestProblemsAreKnownAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for n := range 1000 {
		for i := range 100 {
			e := ledger.Entry{Job: fmt.Sprint("job-", n), Tick: now.Add(-time.Duration(i) * 14 * time.Minute), Outcome: ledger.Skipped}
			if (n+i)%50 == 7 {
				e.Outcome = ledger.Missed
			}
			entries = append(entries, e)
		}
	}
	r, store := cluster(t, entries)
	list, err := new(listing.Problems).Read(t.Context(), r, nil, now.Add(time.Minute), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Unread || p.Count[listing.ProblemMissed] != 2 {
			t.Fatalf("after one view: %+v", p)
		}
	}
	if n := store.entries.Load(); n > 2500 {
		t.Errorf("%d entries were read, want about the 2000 problems", n)
	}
}

// A run that is open for long makes a view read its tick again, and not what came since. Its end
// is counted by the next view.
func TestOpenRunIsReadAlone(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for i := range 600 {
		entries = append(entries, ledger.Entry{Job: "often", Tick: now.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Missed})
	}
	r, store := cluster(t, entries)
	tick := now.Add(-10*time.Hour - time.Minute)
	run := ledger.Entry{Job: "often", Tick: tick, Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Running, Started: tick}
	lease, err := store.locks.TryAcquire(t.Context(), locking.Request{Name: "often", Tick: tick, TTL: time.Hour, Holder: "a", Note: ledger.EncodeNote(run)})
	if err != nil {
		t.Fatal(err)
	}
	p := new(listing.Problems)
	problemsOf(t, p, r, now, 5)
	before := store.entries.Load()
	if got := problemsOf(t, p, r, now, 5); got["often"].Count[listing.ProblemFailed] != 0 {
		t.Errorf("%+v", got)
	}
	if n := store.entries.Load() - before; n > 30 {
		t.Errorf("a view with an open run reads %d entries", n)
	}
	run.Outcome, run.Finished = ledger.Failed, now
	if err := lease.Release(t.Context(), ledger.EncodeNote(run)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := problemsOf(t, p, r, now, 5); got["often"].Count[listing.ProblemFailed] != 1 || got["often"].Count[listing.ProblemMissed] != 600 {
			t.Errorf("after its end: %v", got["often"].Count)
		}
	}
}

// A fullTick is a ledger with a tick that has more entries than any Search returns.
type fullTick struct {
	*recentLedger
	at time.Time
}

func (l fullTick) Search(ctx context.Context, ask []ledger.Stretch) ([]ledger.Skimmed, error) {
	all, err := l.recentLedger.Search(ctx, ask)
	for i, s := range ask {
		if !s.NotAfter.Before(l.at) && !s.Since.After(l.at) {
			all[i].Rest = l.at
			all[i].Entries = slices.DeleteFunc(all[i].Entries, func(e ledger.Entry) bool { return !e.OrderKey().After(l.at) })
		}
	}
	return all, err
}

// A tick that no search can return costs a view a few searches, and hides no other tick: one that is
// old, and one that comes between two views.
func TestProblemsOfATickThatIsTooLarge(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for i := range 50 {
		entries = append(entries, ledger.Entry{Job: "j", Tick: now.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Missed})
	}
	r, store := cluster(t, entries)
	p := new(listing.Problems)
	for _, view := range []time.Duration{0, 20 * time.Minute} {
		tick, want := now.Add(-10*time.Minute), 49
		if view > 0 {
			tick, want = now.Add(5*time.Minute), 52 // the old one can be read now
			for _, at := range []time.Time{tick.Add(time.Minute), tick.Add(-time.Minute)} {
				if _, err := store.Record(t.Context(), ledger.Entry{Job: "j", Tick: at, Outcome: ledger.Missed}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.Records.Ledger = fullTick{store, tick}
		before := store.reads.Load()
		list, err := p.Read(t.Context(), r, nil, now.Add(view+time.Minute), now.Add(view))
		if err != nil {
			t.Fatal(err)
		}
		if n := store.reads.Load() - before; n > 20 {
			t.Errorf("%d reads of a view", n)
		}
		if n := list[0].Count[listing.ProblemMissed]; list[0].Unread || n != want {
			t.Errorf("%d misses, want %d", n, want)
		}
	}
}
