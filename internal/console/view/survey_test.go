package view_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	listing "github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// surveyed reads until nothing is left.
func surveyed(t *testing.T, p *listing.Survey, r listing.Reader, now time.Time) map[string]listing.Past {
	t.Helper()
	for range 100 {
		all := survey(t, p, r, now)
		if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(p listing.Past) bool { return p.Unread }) {
			return all
		}
	}
	t.Fatal("there is always more to read")
	return nil
}

// survey reads once.
func survey(t *testing.T, p *listing.Survey, r listing.Reader, now time.Time) map[string]listing.Past {
	t.Helper()
	newest := newestOf(t, r)
	all, err := p.Read(t.Context(), r, slices.Collect(maps.Keys(newest)), newest, now)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// newestOf has the order key of each job's newest entry.
func newestOf(t *testing.T, r listing.Reader) map[string]time.Time {
	t.Helper()
	d, err := r.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	newest, err := r.Newest(t.Context(), d.Keys)
	if err != nil {
		t.Fatal(err)
	}
	return newest
}

// misses are the missed ticks, newest first.
func misses(p listing.Past) (at []time.Time) { return ticksOf(p, ledger.Missed) }

func ticksOf(p listing.Past, outcome ledger.Outcome) (at []time.Time) {
	for _, e := range p.Events {
		if e.Outcome == outcome {
			at = append(at, e.At)
		}
	}
	return at
}

// Frequent jobs do not push the failure of a nightly one out of sight, nor their own of some days ago; what
// is older than the span is not known. With the plain ones every tick is.
func TestSurveyOfAWeek(t *testing.T) {
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
	const days = 24 * time.Hour
	entries = append(entries, entry("nightly", 6*days, ledger.Missed), entry("nightly", 8*days, ledger.Missed), entry("fine", time.Hour, ledger.Skipped))
	r, _ := cluster(t, entries)
	for plain, want := range map[bool]int{false: 100, true: 900} {
		got := surveyed(t, &listing.Survey{Plain: plain}, r, now)
		busy, nightly := misses(got["busy"]), misses(got["nightly"])
		if len(got["busy"].Events) != want || len(busy) != 100 || len(nightly) != 1 || len(got) != 3 {
			t.Fatalf("plain %v: %d events, %d and %d misses", plain, len(got["busy"].Events), len(busy), len(nightly))
		}
		if !busy[0].Equal(now.Add(-8000*time.Second)) || !nightly[0].Equal(now.Add(-6*days)) {
			t.Errorf("the latest are %v and %v", busy[0], nightly)
		}
	}
}

// Whatever comes between two calls, also late or while another run is open, each call
// knows what a first one would, once it has read everything again.
func TestSurveyKnowsEachTickOnce(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for job := range 7 {
		entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", job), Tick: now.Add(-48 * time.Hour), Outcome: ledger.Skipped})
	}
	r, store := cluster(t, entries)
	kept := &listing.Survey{Plain: true}
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
		surveyed(t, kept, r, now)
	}
	now = now.Add(time.Minute)
	surveyed(t, kept, r, now)
	now = now.Add(6 * time.Minute)
	got, want := surveyed(t, kept, r, now), surveyed(t, &listing.Survey{Plain: true}, r, now)
	for job, w := range want {
		if len(w.Events) == 0 || !slices.Equal(got[job].Events, w.Events) {
			t.Errorf("%s: %d events, want %d", job, len(got[job].Events), len(w.Events))
		}
	}
}

// Each call reads a bounded number of entries, and says of which jobs it lacks some; in a
// cluster at rest the next one reads nothing.
func TestSurveyIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for n := range 6 {
		for i := range 990 {
			entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", n), Tick: now.Add(-time.Hour - time.Duration(i)*time.Minute), Outcome: ledger.Missed})
		}
	}
	r, store := cluster(t, entries)
	p := new(listing.Survey)
	first := survey(t, p, r, now)
	if n := store.entries.Load(); n > 2*5000 {
		t.Errorf("%d entries were read at once", n)
	}
	lacks := func(p listing.Past) bool { return p.Unread && p.Since.After(now.Add(-23*time.Hour)) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(first)), lacks) {
		t.Errorf("no job lacks entries: %+v", first)
	}
	for job, one := range surveyed(t, p, r, now) {
		if len(misses(one)) != 990 {
			t.Errorf("%s: %d", job, len(misses(one)))
		}
	}
	before := store.entries.Load()
	if survey(t, p, r, now); store.entries.Load() != before {
		t.Errorf("%d further entries", store.entries.Load()-before)
	}
}

// A view reads a bounded number of entries however long the history is, apart from the
// first one and one every few minutes. Each reads on, and what it says is so.
func TestSurveyOfEachViewIsBounded(t *testing.T) {
	t.Parallel()
	for _, each := range []int{30, 60} {
		start := time.Now().Truncate(time.Second)
		var entries []ledger.Entry
		for i := range each {
			for n := range 300 {
				entries = append(entries, ledger.Entry{Job: fmt.Sprint("job-", n), Tick: start.Add(-time.Duration(10+i) * time.Minute), Outcome: ledger.Missed})
			}
		}
		r, store := cluster(t, entries)
		p := new(listing.Survey)
		lacking := 0
		for view := range 100 {
			now := start.Add(time.Duration(view/50) * 6 * time.Minute)
			store.entries.Store(0)
			all := survey(t, p, r, now)
			if n := store.entries.Load(); view%50 > 0 && n > 220 || n > 5000 {
				t.Errorf("view %d of %d entries of each job: %d entries were read", view, each, n)
			}
			lacking = 0
			for job, one := range all {
				known := each
				if one.Unread {
					lacking++
					known = max(0, int(start.Sub(one.Since)/time.Minute)-9)
				}
				if len(misses(one)) != known {
					t.Fatalf("view %d: %d misses of %s are there, %d are known", view, len(misses(one)), job, known)
				}
			}
		}
		if lacking > 0 {
			t.Errorf("of %d jobs not all is known after 100 views", lacking)
		}
	}
}

// In a cluster with many jobs and a long history the first view knows the whole week, since
// only ticks with trouble are read.
func TestTroubleIsKnownAtOnce(t *testing.T) {
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
	for _, p := range survey(t, new(listing.Survey), r, now) {
		if p.Unread || len(misses(p)) != 2 {
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
	p := new(listing.Survey)
	surveyed(t, p, r, now)
	before := store.entries.Load()
	if got := surveyed(t, p, r, now); len(ticksOf(got["often"], ledger.Failed)) != 0 {
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
		got := surveyed(t, p, r, now)["often"]
		if failed := ticksOf(got, ledger.Failed); len(failed) != 1 || len(misses(got)) != 600 {
			t.Errorf("after its end: %v, %d misses", failed, len(misses(got)))
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
func TestSurveyOfATickThatIsTooLarge(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for i := range 50 {
		entries = append(entries, ledger.Entry{Job: "j", Tick: now.Add(-time.Duration(i) * time.Minute), Outcome: ledger.Missed})
	}
	r, store := cluster(t, entries)
	p := new(listing.Survey)
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
		got := survey(t, p, r, now.Add(view))["j"]
		if n := store.reads.Load() - before; n > 20 {
			t.Errorf("%d reads of a view", n)
		}
		if n := len(misses(got)); got.Unread || n != want {
			t.Errorf("%d misses, want %d", n, want)
		}
	}
}

// Each view has what came since the one before, also what replicas record late within a minute, and says of what
// was not caught up why it was missed.
func TestSurveyReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	miss := func(ago time.Duration) ledger.Entry {
		cause := ledger.Reason{Code: ledger.CodeNoQuorum}
		return ledger.Entry{Job: "j", Tick: now.Add(-ago), Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeCatchUp, Details: &ledger.Details{With: &cause}}}
	}
	r, store := cluster(t, []ledger.Entry{miss(time.Hour)})
	for _, p := range []*listing.Survey{{}, {Plain: true}} {
		if got := survey(t, p, r, now)["j"]; got.Events[len(got.Events)-1].Code != ledger.CodeNoQuorum {
			t.Errorf("missed for %q", got.Events[0].Code)
		}
		before := len(survey(t, p, r, now)["j"].Events)
		for n, e := range []ledger.Entry{miss(-10 * time.Second), miss(20 * time.Second)} {
			if p.Plain {
				e.Tick = e.Tick.Add(time.Second)
			}
			if _, err := store.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if got := len(survey(t, p, r, now.Add(20*time.Second))["j"].Events); got != before+n+1 {
				t.Errorf("plain %v: %d events, want %d", p.Plain, got, before+n+1)
			}
		}
	}
}

// People who look at different jobs take turns: what one of them has read is not read again for the next.
func TestSurveyRemembersOthers(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	var entries []ledger.Entry
	for n := range 40 {
		for i := range 20 {
			entries = append(entries, ledger.Entry{Job: fmt.Sprintf("job-%02d", n), Tick: now.Add(-time.Duration(30+i) * time.Minute), Outcome: ledger.Missed})
		}
	}
	r, store := cluster(t, entries)
	newest := newestOf(t, r)
	keys := slices.Sorted(maps.Keys(newest))
	p := new(listing.Survey)
	look := func(keys []string) int64 {
		t.Helper()
		before := store.entries.Load()
		for range 100 {
			all, err := p.Read(t.Context(), r, keys, newest, now)
			if err != nil {
				t.Fatal(err)
			}
			known := true
			for _, key := range keys {
				known = known && !all[key].Unread && len(misses(all[key])) == 20
			}
			if len(all) != len(keys) {
				t.Fatalf("asked for %d jobs, got %d", len(keys), len(all))
			}
			if known {
				return store.entries.Load() - before
			}
		}
		t.Fatal("there is always more to read")
		return 0
	}
	ann, bob := keys[:20], keys[15:]
	if n := look(ann); n < 400 {
		t.Fatalf("the first look reads %d entries: this test shows nothing", n)
	}
	if n := look(bob); n > 420 {
		t.Errorf("the look at 25 jobs, of which five were known, reads %d entries", n)
	}
	for name, keys := range map[string][]string{"ann": ann, "bob": bob} {
		if n := look(keys); n != 0 {
			t.Errorf("%s looks again, and %d entries are read again", name, n)
		}
	}
}
