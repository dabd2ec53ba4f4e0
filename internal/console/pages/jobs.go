package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// jobsOnPage bounds the rows of the page of jobs.
const jobsOnPage = 50

// A jobsPage lists jobs.
type jobsPage struct {
	Unknown string // why pauses are not known
	Filters []link // with their numbers
	Sorts   []link
	Ranges  []link
	Rows    []jobRow
	From    *stamp // of the strips
	More    string // the next page
	Lacks   []string
}

// A jobRow is a job with the schedule that was served last.
type jobRow struct {
	jobTimes
	plan
	Description string
	Tags        []string
	Live, Drift bool
	Running     string // the run that goes on
	Last        *stamp // its last tick; nil: none
	LastMark    mark   // how it ended
	LastID      string // of its page; "": not read yet
}

// A plan is when a job ticks, in words.
type plan struct {
	Words, Spec, Zone string
	// Jitter is the largest delay of a tick, and Starts when the next tick starts.
	Jitter string
	Tick   time.Time // the next one
	Starts time.Time
}

// A jobFilter chooses jobs.
type jobFilter struct {
	name, word string
	has        func(data *clusterData, key string) bool
}

// jobFilters are all of them; the first is the default.
func jobFilters() []jobFilter {
	return []jobFilter{
		{"", "all", func(*clusterData, string) bool { return true }},
		{"failing", "not succeeding", func(data *clusterData, key string) bool { _, is := data.needOf(key); return is }},
		{"running", "running", func(data *clusterData, key string) bool { return data.runningRun(key) != "" }},
		{"paused", "paused", func(data *clusterData, key string) bool {
			return data.directory.Last[key].PausedBy(data.open.Pauses, time.Time{}) != ""
		}},
		{"new", "without a tick", func(data *clusterData, key string) bool { return data.newest[key].IsZero() }},
		{"unserved", "not served", func(data *clusterData, key string) bool { return !data.directory.Last[key].Live }},
	}
}

// runningRun is the ID of the latest run of a job that goes on; "" for none.
func (data *clusterData) runningRun(key string) string {
	for _, e := range data.trouble[key].Events {
		if e.Outcome == ledger.Running {
			return e.ID(data.nameOf(key))
		}
	}
	return ""
}

// jobOrders are the orders of the page of jobs; the first is the default.
func jobOrders() []string { return []string{"name", "trouble", "last", "next", "slower"} }

// sorted are the keys of all jobs in an order.
func (data *clusterData) sorted(order string) []string {
	keys := data.directory.Keys // by name
	switch order {
	case "trouble":
		return data.byTrouble()
	case "last":
		keys = slices.Clone(keys)
		slices.SortStableFunc(keys, func(x, y string) int { return data.newest[y].Compare(data.newest[x]) })
	case "next":
		at := map[string]int{}
		for i, n := range data.next {
			at[data.directory.Key(n.Job)] = i - len(data.next)
		}
		keys = slices.Clone(keys)
		slices.SortStableFunc(keys, func(x, y string) int { return cmp.Compare(at[x], at[y]) })
	}
	return keys
}

func loadJobs(ctx context.Context, v *visit) (any, error) {
	filters, order := jobFilters(), cmp.Or(v.query.Get("sort"), jobOrders()[0])
	chosen := slices.IndexFunc(filters, func(f jobFilter) bool { return f.name == v.query.Get("show") })
	first, err := strconv.ParseUint(cmp.Or(v.query.Get("first"), "0"), 10, 32)
	switch {
	case chosen < 0:
		return nil, &view.InvalidError{Msg: "show: there is no choice " + strconv.Quote(v.query.Get("show"))}
	case !slices.Contains(jobOrders(), order):
		return nil, &view.InvalidError{Msg: "sort: there is no order " + strconv.Quote(order)}
	case err != nil:
		return nil, &view.InvalidError{Msg: "first: write the number of the first job of the page"}
	}
	back, err := v.timeRange("24h")
	if err != nil {
		return nil, err
	}
	shown := jobsPage{Ranges: v.ranges(back)}
	data := readCluster(ctx, v, &v.p.listed, func(data *clusterData) []string {
		rest := shown.choose(data, order, filters, chosen)
		rest = rest[min(len(rest), int(first)):]
		if len(rest) > jobsOnPage {
			shown.More = v.With("first", strconv.Itoa(int(first)+jobsOnPage))
		}
		return rest[:min(len(rest), jobsOnPage)]
	})
	if data.unknown != nil {
		return nil, data.unknown
	}
	data.grid = newGrid(back, v.Now)
	shown.From, shown.Unknown, shown.Lacks = v.At(data.from), data.open.Unknown, data.lacks()
	for _, key := range data.shown {
		shown.Rows = append(shown.Rows, data.jobRow(key))
	}
	whole := shown.More == "" && first == 0
	switch {
	case order == "slower" && !whole:
		return nil, &view.InvalidError{Msg: "sort=slower: only of the jobs on a page it is known how long they take; choose fewer jobs first"}
	case order == "slower":
		slices.SortStableFunc(shown.Rows, func(x, y jobRow) int { return cmp.Compare(y.slower(), x.slower()) })
	}
	shown.Sorts = v.orders(order, whole)
	return shown, nil
}

// choose returns the keys of the jobs with a text that the chosen filter has, and counts those of each filter.
func (shown *jobsPage) choose(data *clusterData, order string, filters []jobFilter, chosen int) (keys []string) {
	found := slices.DeleteFunc(slices.Clone(data.sorted(order)), func(key string) bool {
		return !view.Matches(data.directory.Last[key].JobInfo, data.Value("q"))
	})
	for i, f := range filters {
		of := slices.DeleteFunc(slices.Clone(found), func(key string) bool { return !f.has(data, key) })
		if len(of) > 0 || i == 0 || i == chosen {
			shown.Filters = append(shown.Filters, link{Text: fmt.Sprintf("%s %d", f.word, len(of)), Path: data.With("show", f.name, "first", ""), Here: i == chosen})
		}
		if i == chosen {
			keys = of
		}
	}
	return keys
}

// orders are links to all orders. Only of the jobs on the page it is known how long they take: whole says that these
// are all.
func (v *visit) orders(chosen string, whole bool) (list []link) {
	for _, name := range jobOrders() {
		if name != "slower" || whole {
			list = append(list, link{Text: name, Path: v.With("sort", name, "first", ""), Here: name == chosen})
		}
	}
	return list
}

func (data *clusterData) jobRow(key string) jobRow {
	last := data.directory.Last[key]
	row := jobRow{
		jobTimes: data.row(key, nil), plan: planOf(last.JobInfo, data.Now), Description: last.Description, Tags: last.Tags, Live: last.Live,
		Running: data.runningRun(key), Last: data.At(data.newest[key]),
	}
	if !last.Live {
		row.Tick, row.Starts = time.Time{}, time.Time{}
	}
	for _, v := range data.directory.Versions {
		row.Drift = row.Drift || v.Drift && v.StoredAs() == key
	}
	if events := data.past[key].Events; len(events) > 0 {
		row.Last, row.LastMark, row.LastID = data.At(events[0].At), markOfEvent(events[0]), events[0].ID(row.Job)
	}
	return row
}

// slower is by how much the runs take longer than before; 0: they do not.
func (r jobRow) slower() float64 {
	if r.Trend == nil {
		return 0
	}
	return r.Trend.factor
}

// planOf says when a job ticks.
func planOf(j roster.JobInfo, now time.Time) plan {
	p := plan{Spec: j.Schedule, Zone: j.Timezone}
	if j.Jitter > 0 {
		p.Jitter = view.Span(j.Jitter)
	}
	s, err := j.Ticks()
	if err != nil {
		return p
	}
	p.Words = schedule.Describe(s)
	for _, next := range j.Coming(s, now, 1, false) {
		if p.Tick = next.Tick; j.Jitter > 0 {
			p.Starts = j.Start(s, p.Tick)
		}
	}
	return p
}
