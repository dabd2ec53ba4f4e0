package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Bounds of what the overview reads.
const (
	overviewTicks = 400
	overviewNext  = 40
)

// A timeRange is a choice of how far the overview looks back.
type timeRange struct {
	name string // in the page's query
	time.Duration
}

// timeRanges are all choices, the shortest first.
func timeRanges() []timeRange {
	return []timeRange{{"15m", 15 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}}
}

// An overview describes a cluster in words and as a timeline.
type overview struct {
	Lines    []line
	Timeline timeline
	Ranges   []link
	Next     []view.Next
	Running  []view.Run
	Why      string // why the range is not the default
	Stopped  bool   // no tick can start now
	Unknown  bool   // only Lines are known: no quorum answers, and nothing was read before
}

// An overviewData is the data of the overview. Parts that could not be read are empty.
type overviewData struct {
	v        *visit
	nodes    []view.Node
	replicas view.Page[view.Replica]
	entries  []ledger.Entry
	next     view.Page[view.Next]
	open     view.OpenCommands
	asked    time.Time // start of the range
	since    time.Time // start of the entries
	cut      bool      // there are too many entries for the range
	problems []view.JobProblems
	unknown  error // why the rest is empty
}

func loadOverview(ctx context.Context, v *visit) (any, error) {
	name := cmp.Or(v.query.Get("range"), "1h")
	i := slices.IndexFunc(timeRanges(), func(r timeRange) bool { return r.name == name })
	if i < 0 {
		return nil, &view.InvalidError{Msg: strconv.Quote(name) + " is not a range; write 15m, 1h, 6h or 24h"}
	}
	shown := timeRanges()[i]
	all := readView(ctx, v, shown.Duration)
	if all.unknown != nil { // the lines say so; show no old parts
		v.Stale, v.Why = time.Time{}, ""
	}
	why := ""
	if v.query.Get("range") == "" && all.fresh() {
		shown = timeRanges()[0]
		all.since = v.Now.Add(-shown.Duration)
		why = "All runs are from the last 15 minutes."
	}
	o := overview{Lines: all.words(), Timeline: draw(all, shown.Duration), Next: all.next.Items[:min(len(all.next.Items), 8)], Why: why, Stopped: view.MarginOf(all.nodes).Stopped, Unknown: all.unknown != nil}
	for _, e := range all.running() {
		o.Running = append(o.Running, view.NewRun(e))
	}
	for _, r := range timeRanges() {
		o.Ranges = append(o.Ranges, link{r.name, v.With("range", r.name), r == shown})
	}
	return o, nil
}

// fresh reports whether all entries and replicas are younger than the shortest range.
func (all *overviewData) fresh() bool {
	from := all.v.Now.Add(-timeRanges()[0].Duration)
	return all.unknown == nil && !all.cut && len(all.replicas.Items) > 0 &&
		!slices.ContainsFunc(all.entries, func(e ledger.Entry) bool { return e.OrderKey().Before(from) }) &&
		!slices.ContainsFunc(all.replicas.Items, func(r view.Replica) bool { return view.Time(r.Started).Before(from) })
}

// readView reads all parts in parallel.
func readView(ctx context.Context, v *visit, span time.Duration) *overviewData {
	all := &overviewData{v: v, asked: v.Now.Add(-span)}
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
	part(func() (err error) { all.nodes, err = v.p.cfg.Control.Nodes(ctx); return err })
	part(func() (err error) {
		all.replicas, err = rows[view.Replica](ctx, v, "/replicas", nil)
		return err
	})
	part(func() (err error) {
		all.next, err = rows[view.Next](ctx, v, "/next", url.Values{"limit": {strconv.Itoa(overviewNext)}})
		return err
	})
	part(func() (err error) {
		all.open, err = lastKnown(v, "open", func() (view.OpenCommands, error) { return v.p.cfg.Control.OpenCommands(ctx) })
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
func (all *overviewData) readLatest(ctx context.Context) error {
	p, err := lastKnown(all.v, "latest "+all.v.query.Get("range"), func() (view.EntryPage, error) {
		return all.v.p.cfg.Control.Recent(ctx, view.EntryQuery{Limit: overviewTicks, Ticks: true, Since: all.asked})
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
	all.problems, err = lastKnown(all.v, "problems", func() ([]view.JobProblems, error) {
		return all.v.p.problems.Read(ctx, all.v.p.cfg.Control.Reader, p.Entries, from, all.v.Now)
	})
	return err
}

// A line is one statement about the cluster, with More as small print.
type line struct {
	view.Sentence
	Path string // a page with details
}

// Shape shows the level without colour.
func (l line) Shape() string {
	return map[view.Level]string{view.Good: "✓", view.Calm: "·", view.Warn: "!", view.Bad: "✕"}[l.Level]
}

// words describes the cluster, the most important first.
func (all *overviewData) words() []line {
	lines := []line{nodesLine(all.v, all.nodes)}
	for _, text := range all.v.p.warnings() {
		lines = append(lines, warning(text))
	}
	if all.unknown != nil {
		why := "no quorum of nodes answers"
		switch {
		case view.Quorate(all.nodes) == nil && all.v.OneStore():
			why = "it could not be read, although the store answers"
		case view.Quorate(all.nodes) == nil:
			why = "it could not be read, although the nodes answer"
		case all.v.OneStore():
			why = "the store does not answer"
		}
		return append(lines, line{view.Sentence{Level: view.Bad, Text: "The state of the replicas is unknown: " + why + ".", More: all.unknown.Error()}, all.v.To("/nodes")})
	}
	var latest []view.Tick
	for _, e := range all.entries {
		latest = append(latest, view.NewTick(e))
	}
	lines = append(lines, all.replicaLine(latest),
		line{view.TickHealth(latest, all.cut, all.countedSince()), all.v.To("/ticks")},
		all.problemLine(view.Bad, "Failed", view.ProblemFailed, whyOf),
		all.problemLine(view.Warn, "Missed", view.ProblemMissed, whyOf),
		all.problemLine(view.Warn, "Interrupted and run again", view.ProblemInterrupted, interruptedBy),
		all.problemLine(view.Warn, "A guard refused stale writes", view.ProblemStale, staleWriter),
		all.pauseLine(), all.runningLine(), all.uncountedLine(), all.nextLine())
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warning is a line without details.
func warning(text string) line { return line{Sentence: view.Sentence{Level: view.Warn, Text: text}} }

// nodesLine says how many more nodes may fail.
func nodesLine(v *visit, nodes []view.Node) line {
	return line{view.MarginOf(nodes).Sentence, v.To("/nodes")}
}

// replicaLine describes the replicas, and the ones that are gone.
func (all *overviewData) replicaLine(latest []view.Tick) line {
	s, drift := view.ReplicaHealth(all.replicas.Items, latest, all.v.asOf())
	switch {
	case !all.v.Stale.IsZero():
		s.Level, s.Text = view.Calm, "At "+all.v.clock(all.v.Stale)+": "+s.Text
	case drift:
		return line{s, all.v.To("/configuration")}
	}
	return line{s, all.v.To("/replicas")}
}

// problemLine names the jobs with a problem in the last 24 hours, the latest first.
func (all *overviewData) problemLine(level view.Level, name string, kind view.Problem, why func(ledger.Entry) string) line {
	list := view.WithProblem(all.problems, kind)
	if len(list) == 0 {
		return line{}
	}
	var names []string
	for _, p := range list {
		text := p.Job
		if n := p.Count[kind]; n > 1 {
			text += fmt.Sprintf(" (%d times)", n)
		}
		names = append(names, text)
	}
	last := list[0].Last[kind]
	return line{view.Sentence{
		Level: level, Text: name + " in the last 24 h: " + view.And(names) + ".",
		More: "Last " + ago(last.OrderKey().Sub(all.v.Now)) + ", " + last.Job + ": " + why(last),
	}, all.v.runPath(last)}
}

// whyOf is the error or reason of an entry in one line.
func whyOf(e ledger.Entry) string {
	return cmp.Or(view.Why(e.Reason.String(), firstLine(e.Error)), string(e.Outcome))
}

// interruptedBy says whose attempt at the entry's tick was interrupted, and what became of it.
func interruptedBy(e ledger.Entry) string {
	return "an attempt on " + e.InterruptedOn + " was interrupted; attempt " + strconv.Itoa(e.Attempt) + " on " + e.Replica + ": " + markOf(e.Outcome).Word
}

// uncountedLine names the jobs whose problems are known for less than 24 hours.
func (all *overviewData) uncountedLine() line {
	var dropped, unread []string
	for _, p := range all.problems {
		switch text := p.Job + " since " + all.v.clock(p.Since); {
		case p.Unread:
			unread = append(unread, text)
		case !p.Since.IsZero():
			dropped = append(dropped, text)
		}
	}
	switch {
	case len(unread) > 0:
		return line{view.Sentence{
			Level: view.Calm, Text: "Not all of the last 24 h is counted yet: " + view.And(unread) + ".",
			More: "Each view of this page reads on.",
		}, all.v.To("/ticks")}
	case len(dropped) > 0:
		return line{view.Sentence{
			Level: view.Calm, Text: "The ledger keeps less than 24 h of " + view.And(dropped) + ".",
			More: "Earlier failed and missed ticks are not counted. history.keep and history.max_age of a job bound what is kept, at most 1000 runs.",
		}, all.v.To("/ticks")}
	}
	return line{}
}

// staleWriter names the run that wrote with a stale token. If there were several attempts, the
// run's page says which one.
func staleWriter(e ledger.Entry) string {
	if e.Attempt > 1 {
		return fmt.Sprintf("one of %d attempts of this run", e.Attempt)
	}
	return fmt.Sprintf("the run with token %d", e.Token)
}

func (all *overviewData) pauseLine() line {
	if all.open.Unknown != "" {
		return line{view.Sentence{Level: view.Warn, Text: all.open.Unknown + "."}, all.v.To("/nodes")}
	}
	var names []string
	for _, p := range all.open.Pauses {
		names = append(names, p.Target())
	}
	if len(names) == 0 {
		return line{}
	}
	first := all.open.Pauses[0]
	return line{view.Sentence{
		Level: view.Warn, Text: "Paused: " + view.And(names) + ".",
		More: first.By + " " + ago(first.At.Sub(all.v.Now)) + ": " + first.Reason,
	}, all.v.To("/jobs")}
}

func (all *overviewData) runningLine() line {
	list := all.running()
	if len(list) == 0 {
		return line{Sentence: view.Sentence{Level: view.Calm, Text: "Nothing is running."}}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" (replica "+e.Replica+")")
	}
	s := view.Sentence{Level: view.Calm, Text: fmt.Sprintf("%d running: %s.", len(list), view.And(names))}
	return line{s, all.v.To("/ticks") + all.v.Query("outcome", string(ledger.Running))}
}

func (all *overviewData) nextLine() line {
	switch {
	case !all.v.Stale.IsZero(): // none starts before the nodes answer again
		return line{}
	case len(all.next.Items) == 0:
		return line{view.NoTickPlanned(), all.v.To("/jobs")}
	}
	n := all.next.Items[0]
	if i := slices.IndexFunc(all.next.Items, func(n view.Next) bool { return n.Paused == nil }); i >= 0 {
		n = all.next.Items[i]
	}
	at := view.Time(cmp.Or(n.Start, &n.Tick))
	text := "Next: " + n.Job + " "
	if view.MarginOf(all.nodes).Stopped {
		text = "Next, if ticks can start by then: " + n.Job + " "
	}
	if n.Paused != nil {
		text = "All next ticks are paused: " + n.Job + " skips its tick "
	}
	return line{view.Sentence{Level: view.Calm, Text: text + ago(at.Sub(all.v.Now)) + ", at " + all.v.clock(at) + "."}, all.v.To("/jobs", n.Job)}
}

// running returns the entries of open runs.
func (all *overviewData) running() []ledger.Entry {
	return slices.DeleteFunc(slices.Clone(all.entries), func(e ledger.Entry) bool { return e.Outcome != ledger.Running })
}

// countedSince is the time of the first counted tick, or of the start of the range.
func (all *overviewData) countedSince() string {
	if all.cut {
		return all.v.clock(all.since)
	}
	return all.v.minute(all.since)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
