package pages

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Bounds of what the overview reads.
const (
	overviewTicks = 400
	overviewNext  = 40
)

// spans are the ranges of the overview.
func spans() []time.Duration {
	return []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
}

// An overview describes a cluster in words and as a timeline.
type overview struct {
	Lines    []line
	Timeline timeline
	Spans    []choice
	Next     []view.Next
	Running  []view.Run
	Worst    view.Level // of all lines
	Why      string     // why the range is not the default
	Stopped  bool       // no tick can start now
	Unknown  bool       // only Lines are known: no quorum answers, and nothing was read before
}

// A choice is an option of the page's query.
type choice struct {
	Text, Path string
	Here       bool
}

// openActs are the acts in force.
type openActs struct {
	acts.Open
	unknown string // why they are not known
}

// A glance is the data of the overview. Parts that could not be read are empty.
type glance struct {
	*visit
	nodes    []view.Node
	replicas api.Page[view.Replica]
	entries  []ledger.Entry
	next     api.Page[view.Next]
	open     openActs
	asked    time.Time // start of the range
	since    time.Time // start of the entries
	cut      bool      // there are too many entries for the range
	problems []view.JobProblems
	unknown  error // why the rest is empty
}

func loadOverview(ctx context.Context, v *visit) (any, error) {
	span, err := chosenSpan(v.query.Get("range"))
	if err != nil {
		return nil, err
	}
	all := readView(ctx, v, span)
	if all.unknown != nil { // the lines say so; show no old parts
		v.Stale, v.Why = time.Time{}, ""
	}
	why := ""
	if v.query.Get("range") == "" && all.fresh() {
		span, all.since = spans()[0], v.Now.Add(-spans()[0])
		why = "All runs are from the last 15 minutes."
	}
	o := overview{Lines: all.words(), Timeline: draw(all, span), Next: all.next.Items[:min(len(all.next.Items), 8)], Why: why, Stopped: view.MarginOf(all.nodes).Stopped, Unknown: all.unknown != nil}
	for _, e := range all.entries {
		if e.Outcome == ledger.Running {
			o.Running = append(o.Running, view.NewRun(e))
		}
	}
	for _, one := range spans() {
		o.Spans = append(o.Spans, choice{shortSpan(one), v.With("range", shortSpan(one)), one == span})
	}
	o.Worst = slices.MaxFunc(o.Lines, func(x, y line) int { return cmp.Compare(x.Level.Weight(), y.Level.Weight()) }).Level
	return o, nil
}

// fresh reports whether all entries and replicas are younger than the shortest range.
func (all *glance) fresh() bool {
	from := all.Now.Add(-spans()[0])
	return all.unknown == nil && !all.cut && len(all.replicas.Items) > 0 &&
		!slices.ContainsFunc(all.entries, func(e ledger.Entry) bool { return e.OrderKey().Before(from) }) &&
		!slices.ContainsFunc(all.replicas.Items, func(r view.Replica) bool { return view.Time(r.Started).Before(from) })
}

// chosenSpan is the range in the page's query.
func chosenSpan(text string) (time.Duration, error) {
	text = cmp.Or(text, "1h")
	for _, one := range spans() {
		if shortSpan(one) == text {
			return one, nil
		}
	}
	return 0, &view.InvalidError{Msg: strconv.Quote(text) + " is not a range; write 15m, 1h, 6h or 24h"}
}

func shortSpan(d time.Duration) string {
	if d < time.Hour {
		return strconv.Itoa(int(d.Minutes())) + "m"
	}
	return strconv.Itoa(int(d.Hours())) + "h"
}

// readView reads all parts in parallel.
func readView(ctx context.Context, v *visit, span time.Duration) *glance {
	all := &glance{visit: v, asked: v.Now.Add(-span)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	part := func(read func() error) {
		wg.Go(func() {
			if err := read(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all.unknown = err
			}
		})
	}
	part(func() error { all.nodes = v.Nodes.Nodes(ctx); return nil })
	part(func() (err error) {
		all.replicas, err = rows[view.Replica](ctx, v, "/replicas", nil)
		return err
	})
	part(func() (err error) {
		all.next, err = rows[view.Next](ctx, v, "/next", url.Values{"limit": {strconv.Itoa(overviewNext)}})
		return err
	})
	part(func() error {
		open, err := lastKnown(v, "open", func() (openActs, error) {
			open, unknown, err := v.Control.OpenActs(ctx)
			return openActs{open, unknown}, err
		})
		all.open = open
		return err
	})
	part(func() error { return all.readLatest(ctx) })
	wg.Wait()
	if !v.Stale.IsZero() { // none of them starts before the nodes answer again
		all.next.Items = nil
	}
	return all
}

// readLatest reads the latest ticks of the range, and the problems of the last 24 hours.
func (all *glance) readLatest(ctx context.Context) error {
	p, err := lastKnown(all.visit, "latest "+all.query.Get("range"), func() (view.Page, error) {
		return all.Control.Recent(ctx, view.RecentQuery{Limit: overviewTicks, Ticks: true, Since: all.asked})
	})
	all.since = all.asked
	if err != nil {
		return err
	}
	all.entries = p.Entries
	from := all.asked
	if all.cut = !p.Next.IsZero() && len(p.Entries) > 0; all.cut {
		all.since = p.Entries[len(p.Entries)-1].OrderKey()
		from = all.since.Add(time.Millisecond)
	}
	all.problems, err = lastKnown(all.visit, "problems", func() ([]view.JobProblems, error) {
		return all.Pages.problems.Read(ctx, all.Control.Reader, p.Entries, from, all.Now)
	})
	return err
}
