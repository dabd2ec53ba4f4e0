package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// noon is the now of these tests.
var noon = time.Date(2027, 3, 1, 12, 0, 30, 0, time.UTC)

func atNoon() times { return times{Now: noon, zone: time.UTC} }

// ended are events a minute apart, newest first, each with one letter: s succeeded, f failed, m missed, k skipped, r running.
func ended(letters string) (p view.Past) {
	outcomes := map[rune]ledger.Outcome{'s': ledger.Succeeded, 'f': ledger.Failed, 'm': ledger.Missed, 'k': ledger.Skipped, 'r': ledger.Running}
	for i, letter := range letters {
		at := noon.Truncate(time.Minute).Add(-time.Duration(i) * time.Minute)
		e := view.Event{At: at, Outcome: outcomes[letter], Ran: letter != 'm', Started: at, Delay: -1}
		if letter == 's' {
			e.Took = time.Second
		}
		p.Events = append(p.Events, e)
	}
	return p
}

// Each cell shows the worst outcome of its time, and the shortest range ends with now.
func TestStripShowsTheWorst(t *testing.T) {
	t.Parallel()
	g := newGrid(timeRange{"15m", 15 * time.Minute, 5 * time.Minute}, noon)
	if g.n != 3 || g.at(noon) != 2 || !g.from.Equal(noon.Truncate(5*time.Minute).Add(-10*time.Minute)) {
		t.Fatalf("%+v", g)
	}
	s := newStrip(g, ended("rsssssfmssk"), atNoon(), []incident{{from: noon.Add(-8 * time.Minute), to: noon}})
	// 12:00 runs; 11:55 to 11:59 succeeded; 11:50 to 11:54 has one that failed and one that was missed.
	if want := []cell{{"bad", "11:50:00: 2 succeeded, 1 failed, 1 skipped, 1 missed", 0}}; !slices.Equal(s.Marks, want) {
		t.Errorf("marks %+v, want %+v", s.Marks, want)
	}
	if want := []stroke{{"busy", "M2 0h.84v1h-.84z"}, {"good", "M1 0h.84v1h-.84z"}}; !slices.Equal(s.Paths, want) {
		t.Errorf("paths %+v, want %+v", s.Paths, want)
	}
	if want := []band{{0, 3}}; !slices.Equal(s.Bands, want) {
		t.Errorf("bands %+v, want %+v", s.Bands, want)
	}
}

// A run that goes on fills the cells since its start; what the ledger has dropped, or what is not read yet, is said.
func TestStripSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	g := newGrid(timeRange{"1h", time.Hour, time.Minute}, noon)
	p := ended("kkkkr")
	s := newStrip(g, p, atNoon(), nil)
	if busy := s.Paths[len(s.Paths)-1]; busy.Class != "busy" || strings.Count(busy.Path, "M") != 5 || s.Kept != 0 {
		t.Errorf("%+v", s)
	}
	short := newGrid(timeRange{"15m", 3 * time.Minute, time.Minute}, noon)
	if s := newStrip(short, p, atNoon(), nil); len(s.Paths) != 1 || s.Paths[0].Class != "busy" || strings.Count(s.Paths[0].Path, "M") != 3 {
		t.Errorf("a run that began before the range: %+v", s.Paths)
	}
	p.Since = noon.Add(-30 * time.Minute)
	if s := newStrip(g, p, atNoon(), nil); s.Kept != 29 || !strings.Contains(s.About, "keeps none from before") {
		t.Errorf("trimmed: %d cells, %q", s.Kept, s.About)
	}
	p.Unread = true
	if s := newStrip(g, p, atNoon(), nil); s.Kept != 29 || !strings.Contains(s.About, "not read yet") {
		t.Errorf("unread: %d cells, %q", s.Kept, s.About)
	}
	if s := newStrip(g, view.Past{Since: noon.Add(time.Minute), Unread: true}, atNoon(), nil); s.Kept != g.n {
		t.Errorf("nothing read: %d of %d cells", s.Kept, g.n)
	}
}

// Few runs, or small differences, are no trend.
func TestTrend(t *testing.T) {
	t.Parallel()
	grows := func(n int, by time.Duration) (took []time.Duration) {
		for i := range n {
			took = append(took, time.Second+time.Duration(n-i)*by)
		}
		return took
	}
	for name, tt := range map[string]struct {
		took []time.Duration
		want string
	}{
		"none": {nil, ""}, "few": {grows(9, time.Second), ""}, "slower": {grows(10, time.Second), "↗"},
		"steady": {grows(20, time.Millisecond), ""}, "faster": {reversed(grows(20, time.Second)), "↘"},
		"slower, but by little": {slices.Concat(slices.Repeat([]time.Duration{45 * time.Millisecond}, 6), slices.Repeat([]time.Duration{15 * time.Millisecond}, 6)), ""},
		"slower by more":        {slices.Concat(slices.Repeat([]time.Duration{95 * time.Millisecond}, 6), slices.Repeat([]time.Duration{15 * time.Millisecond}, 6)), "↗"},
	} {
		got := ""
		if trend := trendOf(tt.took); trend != nil {
			got = trend.Shape
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func reversed[T any](list []T) []T {
	slices.Reverse(list)
	return list
}

// dataAtNoon is that of an hour without jobs.
func dataAtNoon() *clusterData {
	return &clusterData{
		visit: &visit{address: address{url: &url.URL{Path: "/"}, query: url.Values{}}, times: atNoon()},
		grid:  newGrid(timeRange{"1h", time.Hour, time.Minute}, noon), trouble: map[string]view.Past{}, past: map[string]view.Past{},
		directory: view.Directory{Last: map[string]roster.Version{}}, newest: map[string]time.Time{},
	}
}

func (data *clusterData) serve(job string, past view.Past, change ...func(*roster.Version)) {
	v := roster.Version{JobInfo: roster.JobInfo{Name: job}, Live: true}
	for _, c := range change {
		c(&v)
	}
	data.directory.Keys, data.directory.Last[job] = append(data.directory.Keys, job), v
	data.past[job], data.shown = past, append(data.shown, job)
	if len(past.Events) > 0 {
		data.newest[job] = past.Events[0].At
	}
}

// Failing jobs come first, then slower ones, then paused ones, then the others by name.
func TestRowsAreInOrder(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	slower := ended("ssssssssssss")
	for i := range slower.Events[:6] {
		slower.Events[i].Took = time.Minute
	}
	data.serve("b-fine", ended("sss"))
	data.serve("a-fine", ended("sss"))
	data.serve("paused", ended("kk"), func(v *roster.Version) { v.Paused = true })
	data.serve("slower", slower)
	data.serve("fails", ended("fs"))
	data.inNeed = []view.JobInNeed{{Job: "fails", Standing: view.Standing{Last: ledger.Entry{Outcome: ledger.Failed}}}}
	var got []string
	for _, row := range data.rows(nil) {
		got = append(got, row.Job+" "+row.Mark.Shape)
	}
	if want := []string{"fails ✕", "slower ✓", "paused ‖", "a-fine ✓", "b-fine ✓"}; !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	again := ended("s")
	again.Events[0].Interruptions = 1
	data.serve("again", again)
	if row := data.row("again", nil); row.Mark.Word != withTrouble || row.Strip.Marks[0].Title != "12:00:00: 1 "+withTrouble {
		t.Errorf("a success after an interruption: %+v", row)
	}
}

// Jobs that no replica serves are told from those that wait.
func TestJobsThatNobodyServes(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	data.serve("gone", ended("s"), func(v *roster.Version) { v.Live = false })
	data.serve("here", ended("s"))
	filters := jobFilters()
	f := filters[slices.IndexFunc(filters, func(f jobFilter) bool { return f.name == "unserved" })]
	if !f.has(data, "gone") || f.has(data, "here") {
		t.Error("the wrong one counts as not served")
	}
}

// If not all jobs have a row, those without a tick are left out first.
func TestJobsWithoutATickComeLast(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	data.serve("new", view.Past{})
	data.serve("old", ended("s"))
	if got := data.byTrouble(); !slices.Equal(got, []string{"old", "new"}) {
		t.Errorf("the order is %q", got)
	}
}

// Where nothing needs anybody, the status says no more than is known.
func TestFineStatus(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	wants := func(text string) {
		t.Helper()
		if l := data.fineLine(); !strings.HasPrefix(l.Text, text) {
			t.Errorf("the status is %q, want %q", l.Text, text)
		}
	}
	wants("No replica serves a job yet.")
	data.serve("j", view.Past{})
	wants("No tick is planned")
	tick := "2027-03-01T12:01:00Z"
	data.next = []view.Next{{Job: "j", Tick: tick, Start: &tick}}
	wants("No job has had a tick yet. The first is that of j, at 12:01:00.")
	if n := data.first(); n == nil || n.Tick != tick {
		t.Errorf("the first tick is %+v", n)
	}
	why := "a pause"
	data.next = append([]view.Next{{Job: "paused", Tick: tick, Paused: &why}}, data.next...)
	wants("No job has had a tick yet. The first is that of j, at 12:01:00.")
	data.next = data.next[:1]
	wants("No job has had a tick yet, and all next ones are paused.")
	data.newest["j"] = noon.Add(-30 * 24 * time.Hour) // longer ago than the page looks back
	wants("Nothing needs you: of 1 job no last tick failed")
	if n := data.first(); n != nil {
		t.Errorf("after a tick the first one is %+v", n)
	}
}

// A replica with a skewed clock takes the ticks that others leave; a silent one takes none.
func TestReadyReplicas(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	seen, silent := noon.Format(time.RFC3339), noon.Add(-time.Minute).Format(time.RFC3339)
	data.replicas.Items = []view.Replica{
		{State: roster.StateReady, Seen: &seen}, {State: roster.StateSkewed, Seen: &seen}, {State: roster.StateReady, Seen: &silent}, {State: roster.StateDraining, Seen: &seen},
	}
	if n := takers(data.replicas.Items, data.asOf()); n != 2 {
		t.Errorf("%d are ready, want 2", n)
	}
}

// Misses with one cause are one incident while no more than ten minutes lie between them; others are their own.
func TestIncidents(t *testing.T) {
	t.Parallel()
	data := dataAtNoon()
	add := func(job string, events ...view.Event) {
		if _, known := data.directory.Last[job]; !known {
			data.directory.Keys = append(data.directory.Keys, job)
			data.directory.Last[job] = roster.Version{JobInfo: roster.JobInfo{Name: job}, Live: job != "gone"}
		}
		data.trouble[job] = view.Past{Events: append(data.trouble[job].Events, events...)}
	}
	miss := func(job string, code ledger.Code, minutes ...int) {
		for _, n := range minutes {
			add(job, view.Event{At: noon.Add(-time.Duration(n) * time.Minute), Outcome: ledger.Missed, Code: code})
		}
	}
	miss("a", ledger.CodeNoQuorum, 20, 21, 22, 50)
	add("a", view.Event{At: noon.Add(-55 * time.Minute), Outcome: ledger.Failed})
	miss("b", ledger.CodeNoQuorum, 25, 30)
	miss("c", ledger.CodeAsleep, 21, 120)
	miss("gone", ledger.CodeNoQuorum, 23)
	add("asked", view.Event{At: noon.Add(-24 * time.Minute), Outcome: ledger.Missed, Code: ledger.CodeNoQuorum, Stream: "manual"})
	list, more := data.incidents()
	var got []string
	for _, i := range list {
		got = append(got, fmt.Sprintf("%s. %s %d forms", i.Cause, i.Text, len(i.Runs)))
	}
	want := []string{
		causes[ledger.CodeNoQuorum] + ". 11:30:30 – 11:40:30: 7 ticks of 4 jobs missed. 2 forms",
		causes[ledger.CodeAsleep] + ". 11:39:30: 1 tick of c missed. 1 forms",
		causes[ledger.CodeNoQuorum] + ". 11:10:30: 1 tick of a missed. 1 forms",
	}
	if !slices.Equal(got, want) || more != 0 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	run := link{Text: "b: 11:30:30 – 11:35:30, 2 of them missed", Path: "/jobs/b/backfill?from=2027-03-01T11%3A30%3A30&to=2027-03-01T11%3A35%3A31"}
	if list[0].Runs[1] != run {
		t.Errorf("b is run by %+v", list[0].Runs[1])
	}
	for n := range 8 {
		miss("d", ledger.Code(fmt.Sprint("code-", n)), 5)
	}
	if list, more := data.incidents(); len(list) != mostIncidents || more != 11-mostIncidents {
		t.Errorf("%d incidents and %d more", len(list), more)
	}
}

// What is unknown is a gap in a line, and a value between two gaps is a dot.
func TestSparkHasGaps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values []float64
		want   string
	}{
		"one is no line": {[]float64{1}, ""},
		"a line":         {[]float64{0, 2, 1}, "M0 17h0L5 1L10 9"},
		"a gap":          {[]float64{2, 2, -1, 1, 1, 2}, "M0 1h0L2 1M6 9h0L8 9L10 1"},
		"a dot":          {[]float64{-1, 3, -1}, "M5 1h0"},
		"nothing known":  {[]float64{-1, -1}, ""},
	} {
		if got := sparkOf(tt.values, 10, 18); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
