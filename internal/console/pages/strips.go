package pages

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A grid divides a range of time into cells, which begin at round times.
type grid struct {
	from time.Time
	cell time.Duration
	n    int
}

// newGrid ends with the cell of now.
func newGrid(r timeRange, now time.Time) grid {
	return grid{now.Truncate(r.cell).Add(r.cell - r.Duration), r.cell, int(r.Duration / r.cell)}
}

// at is the cell of a time; negative: it is earlier.
func (g grid) at(t time.Time) int {
	if t.Before(g.from) {
		return -1
	}
	return min(int(t.Sub(g.from)/g.cell), g.n-1)
}

// A jobTimes shows a job over time.
type jobTimes struct {
	Job   string
	Mark  mark
	Strip strip
	// Of the durations of its successes.
	P50, P95 string
	Trend    *trend
	Spark    string // a path in 64 × 18
	Next     string
	Full     string // the time of it

	Paused string // why its ticks are skipped
	order  int    // of the rows; the largest first
}

// A trend says that a job takes longer, or shorter.
type trend struct {
	mark
	factor float64 // now by before
}

// A strip has the worst outcome of each cell.
type strip struct {
	Cells int
	Paths []stroke // of cells without trouble
	Marks []cell
	Bands []band // of incidents
	Kept  int    // cells before the first that is known
	About string
}

// A stroke is all cells of a class.
type stroke struct{ Class, Path string }

// A cell is one with trouble.
type cell struct {
	Class, Title string
	X            int
}

// A band is the time of an incident.
type band struct{ X, Width int }

// rank orders classes: the worst one of a cell is shown.
func rank(class string) int { return view.Level(class).Weight() }

// markOfEvent is the mark of its outcome; what succeeded only after trouble is a warning.
func markOfEvent(e view.Event) mark {
	if e.Outcome == ledger.Succeeded && (e.Interruptions > 0 || e.StaleWrites > 0) {
		return mark{"warn", "!", withTrouble}
	}
	return markOf(e.Outcome)
}

// withTrouble is a success after an attempt that was interrupted, or with writes that a guard refused.
const withTrouble = "succeeded with trouble"

// newStrip draws what became of the ticks of a job.
func newStrip(g grid, p view.Past, show times, incidents []incident) strip {
	s := strip{Cells: g.n}
	for _, i := range incidents {
		if from, to := max(0, g.at(i.from)), g.at(i.to); to >= 0 {
			s.Bands = append(s.Bands, band{from, to - from + 1})
		}
	}
	worst, words := make([]string, g.n), make([]map[string]int, g.n)
	total, events := map[string]int{}, p.EventsSince(g.from)
	fill := func(from, to int, class string) {
		for at := max(0, from); at <= to; at++ {
			if worst[at] == "" || rank(class) > rank(worst[at]) {
				worst[at] = class
			}
		}
	}
	for _, e := range events {
		m, at := markOfEvent(e), g.at(e.At)
		if words[at] == nil {
			words[at] = map[string]int{}
		}
		words[at][m.Word]++
		total[m.Word]++
		fill(at, at, m.Class)
	}
	for _, e := range p.Events { // also one that began before
		if e.Outcome == ledger.Running {
			fill(g.at(e.At), g.at(show.Now), markOfEvent(e).Class)
		}
	}
	s.draw(g, worst, func(at int) string { return counted(words[at]) }, show)
	s.About = view.Join(" of ", counted(total), view.Count(len(events), "tick", "ticks"))
	if p.Since.After(g.from) {
		if s.Kept = max(1, g.at(p.Since)); p.Since.After(show.Now) {
			s.Kept = g.n // nothing was read
		}
		if s.About += "; the ledger keeps none from before " + show.clock(p.Since); p.Unread {
			s.About = "earlier ones are not read yet; " + counted(total)
		}
	}
	return s
}

// draw draws the worst classes of all cells. Those with trouble have words.
func (s *strip) draw(g grid, worst []string, words func(at int) string, show times) {
	paths := map[string]*strings.Builder{"calm": {}, "good": {}, "busy": {}}
	for at, class := range worst {
		if path := paths[class]; path != nil {
			fmt.Fprintf(path, "M%d 0h.84v1h-.84z", at)
		} else if class != "" {
			s.Marks = append(s.Marks, cell{class, show.clock(g.from.Add(time.Duration(at)*g.cell)) + ": " + words(at), at})
		}
	}
	for _, class := range slices.Sorted(maps.Keys(paths)) {
		if path := paths[class].String(); path != "" {
			s.Paths = append(s.Paths, stroke{class, path})
		}
	}
}

// counted lists words with their numbers, such as "3 failed, 1 missed".
func counted(words map[string]int) string {
	var parts []string
	add := func(word string) {
		if words[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", words[word], word))
		}
	}
	for _, o := range ledger.Outcomes() {
		add(markOf(o).Word)
	}
	add(withTrouble)
	return strings.Join(parts, ", ")
}

// leastRuns is how many runs say something about the next one.
const leastRuns = 5

// What makes a trend: the median of the newer half of the runs against that of the older half.
const (
	trendFactor = 1.25
	trendLeast  = 50 * time.Millisecond
)

// trendOf compares durations, newest first; nil: they are much the same, or too few.
func trendOf(took []time.Duration) *trend {
	half := len(took) / 2
	if half < leastRuns {
		return nil
	}
	now, before := view.Quantile(took[:half], 0.5), view.Quantile(took[len(took)-half:], 0.5)
	text := fmt.Sprintf("median of the newer %d runs %s, of the %d before them %s", half, view.Span(now), half, view.Span(before))
	switch {
	case float64(now) > trendFactor*float64(before) && now-before > trendLeast:
		return &trend{mark{"warn", "↗", "slower: " + text}, float64(now) / float64(before)}
	case float64(before) > trendFactor*float64(now) && before-now > trendLeast:
		return &trend{mark{"calm", "↘", "faster: " + text}, float64(now) / float64(before)}
	}
	return nil
}

// sparkOf is a path of the latest values, oldest first, in a box. A negative value is unknown: it is a gap.
func sparkOf(values []float64, width, height float64) string {
	if len(values) < 2 {
		return ""
	}
	most := max(slices.Max(values), 1e-9)
	var b strings.Builder
	gap := true
	for i, v := range values {
		x, y := width*float64(i)/float64(len(values)-1), 1+(height-2)*(1-v/most)
		switch {
		case v < 0:
		case gap:
			fmt.Fprintf(&b, "M%.0f %.0fh0", x, y) // a dot if the next one is unknown, too
		default:
			fmt.Fprintf(&b, "L%.0f %.0f", x, y)
		}
		gap = v < 0
	}
	return b.String()
}

// sparkRuns is how many runs the sparkline of a job has.
const sparkRuns = 32

// rows are those of the jobs that are shown: failing, then slower, then paused, then the others.
func (data *clusterData) rows(incidents []incident) []jobTimes {
	next, need := map[string]view.Next{}, map[string]int{}
	for _, n := range data.next {
		next[n.Job] = n
	}
	for i, j := range data.inNeed {
		need[j.Job] = len(data.inNeed) - i
	}
	var list []jobTimes
	for _, key := range data.shown {
		row := data.row(key, incidents)
		last := data.directory.Last[key]
		n, planned := next[row.Job]
		switch {
		case !last.Live:
			row.Next = "not served"
		case row.Paused != "":
			row.Next, row.Full, row.order = "paused", row.Paused, 1
		case planned:
			at := view.Time(cmp.Or(n.Start, &n.Tick))
			row.Next, row.Full = ago(at.Sub(data.Now)), data.clock(at)
		}
		if row.Trend != nil && row.Trend.Class == "warn" {
			row.order = 2
		}
		if n := need[row.Job]; n > 0 {
			row.order = 2 + n
		}
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(x, y jobTimes) int {
		return cmp.Or(cmp.Compare(y.order, x.order), cmp.Compare(x.Job, y.Job))
	})
	return list
}

// row is what the ticks of a job say.
func (data *clusterData) row(key string, incidents []incident) jobTimes {
	show := data.times
	show.Now = data.asOf()
	past, known := data.past[key]
	last := data.directory.Last[key]
	row := jobTimes{Job: last.Name, Mark: mark{"calm", "·", "none in 7 days"}, Strip: newStrip(data.grid, past, show, incidents), Paused: last.PausedBy(data.open.Pauses, time.Time{})}
	switch {
	case len(past.Events) > 0:
		row.Mark = markOfEvent(past.Events[0])
	case !known || past.Unread:
		row.Mark.Word = "not read yet"
	case data.newest[key].IsZero():
		row.Mark.Word = "none yet"
	}
	if last.Live && row.Paused != "" {
		row.Mark = mark{"calm", "‖", "paused"}
	}
	if need, is := data.needOf(key); is {
		row.Mark = markOf(need.Last.Outcome)
	}
	took, figures := view.Durations(past.EventsSince(data.from)), past.Figures(data.from)
	if figures.Timed == 0 {
		return row
	}
	row.P50, row.P95, row.Trend = view.Span(figures.P50), view.Span(figures.P95), trendOf(took)
	var values []float64
	for _, t := range slices.Backward(took[:min(len(took), sparkRuns)]) {
		values = append(values, t.Seconds())
	}
	row.Spark = sparkOf(values, 64, 18)
	return row
}

// A counter is a figure with its course.
type counter struct {
	Name, Value, About string
	Class              string // of the value
	Dots               []mark
	Spark              string // a path in 120 × 22
	Path               string
}

// counters are those of the range.
func (data *clusterData) counters() []counter {
	ran, failed := make([]float64, data.n), make([]float64, data.n)
	var delays []time.Duration
	runs, failures := 0, 0
	for key, p := range data.past {
		jitter := data.directory.Last[key].Jitter > 0
		runs += p.Figures(data.from).Runs
		for _, e := range p.EventsSince(data.from) {
			if e.Ran {
				ran[data.at(e.At)]++
			}
			if e.Delay >= 0 && !jitter {
				delays = append(delays, e.Delay)
			}
		}
	}
	for _, p := range data.trouble {
		failures += p.Figures(data.from).Failures
		for _, e := range p.EventsSince(data.from) {
			if e.Failed() {
				failed[data.at(e.At)]++
			}
		}
	}
	of, least := "", func(n int, known map[string]view.Past) string {
		for _, p := range known {
			if p.Since.After(data.from) {
				return fmt.Sprintf("at least %d", n)
			}
		}
		return strconv.Itoa(n)
	}
	if n := len(data.directory.Keys); n > len(data.shown) {
		of = fmt.Sprintf("of the %d jobs below", len(data.shown))
	}
	failedPath := data.To("/ticks") + data.Query("since", data.from.UTC().Format(time.RFC3339)) + "&outcome=failed,timed_out,lease_lost,interrupted"
	list := []counter{
		{Name: "Runs", Value: least(runs, data.past), About: of, Spark: sparkOf(ran, 120, 22), Path: data.To("/ticks")},
		{Name: "Failures", Value: least(failures, data.trouble), Spark: sparkOf(failed, 120, 22), Path: failedPath},
	}
	if failures > 0 {
		list[1].Class = "bad"
	}
	delay := counter{Name: "Start delay, p95", Value: "–", About: "no start to measure"}
	if len(delays) > 0 {
		delay.Value = view.Span(view.Quantile(delays, 0.95))
		delay.About = view.Join(" ", "from the tick to its start,", view.Count(len(delays), "run", "runs"), of)
	}
	return append(list, delay, data.nodeCounter(), data.replicaCounter())
}

// nodeCounter says whether a node may be restarted.
func (data *clusterData) nodeCounter() counter {
	margin := view.MarginOf(data.nodes)
	c := counter{Name: data.p.titleOf(page{name: "nodes", title: "Nodes"}), About: margin.Brief, Path: data.To("/nodes")}
	voting := 0
	for _, n := range data.nodes {
		m := mark{string(n.Level()), "●", n.Node + " is " + n.State}
		if m.Class != "good" {
			m.Shape = "○"
		} else {
			voting++
		}
		c.Dots = append(c.Dots, m)
	}
	switch spare := voting - len(data.nodes)/2 - 1; {
	case data.OneStore(), margin.Stopped:
	case spare > 0:
		c.About += " One may be restarted."
	default:
		c.About += " Restart none now."
	}
	return c
}

// replicaCounter says whether a replica may be restarted.
func (data *clusterData) replicaCounter() counter {
	c := counter{Name: "Replicas", Path: data.To("/replicas")}
	busy := 0
	for _, r := range data.replicas.Items {
		m := mark{"good", "●", r.ID + " is " + r.State}
		switch {
		case r.State == roster.StateLost:
			m.Class, m.Shape = "bad", "✕"
		case r.Level(data.asOf()) != view.Good:
			m.Class, m.Shape = "warn", "○"
		}
		if c.Dots = append(c.Dots, m); len(r.Running) > 0 && r.State != roster.StateLost {
			busy++
		}
	}
	runs := ""
	if busy > 0 {
		runs = "; " + view.Count(busy, "has a run", "have runs") + " to end or to hand over"
	}
	l, ready := data.replicaLine(), takers(data.replicas.Items, data.asOf())
	if l.Level.Weight() >= view.Warn.Weight() { // it has a line of its own
		c.About = fmt.Sprintf("%d of %d take ticks.", ready, len(data.replicas.Items))
		return c
	}
	c.About = view.Join(" ", l.Text, l.More)
	switch {
	case !data.Stale.IsZero():
	case ready == 1:
		c.About += " While it restarts, no tick starts" + runs + "."
	case slices.ContainsFunc(data.replicas.Items, func(r view.Replica) bool { return len(r.Alone) > 0 }):
		c.About += " Some alone may run a job: see Replicas before a restart" + runs + "."
	case slices.ContainsFunc(data.replicas.Items, func(r view.Replica) bool { return r.TakesTicks(data.asOf()) && r.Alone == nil }):
		c.About += " Any may be restarted if others may run its jobs: a set of jobs is not known" + runs + "."
	default:
		c.About += " Any may be restarted" + runs + "."
	}
	return c
}

// lacks says of which jobs the page has not read all yet, or the ledger has not kept all, that it shows.
func (data *clusterData) lacks() (texts []string) {
	var unread, dropped []string
	for _, key := range data.directory.Keys {
		trouble, past := data.trouble[key], data.past[key]
		day := slices.MinFunc([]time.Time{data.from, data.Now.Add(-24 * time.Hour)}, time.Time.Compare)
		switch late, lateDay := past.Since.After(data.from), trouble.Since.After(day); {
		case past.Unread && late, trouble.Unread && lateDay:
			unread = append(unread, data.nameOf(key))
		case late, lateDay:
			dropped = append(dropped, data.nameOf(key))
		}
	}
	if len(unread) > 0 {
		texts = append(texts, "Not all of this range and of the last 24 h is read yet: that of "+view.And(unread)+". Each view of this page reads on.")
	}
	if len(dropped) > 0 {
		texts = append(texts, "The ledger keeps less than this range or 24 h of "+view.And(dropped)+": history.keep and history.max_age of a job bound it.")
	}
	return texts
}
