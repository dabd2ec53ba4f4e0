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
	overviewNeeds = 10 // rows of jobs in need
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
	Needs    []need
	MoreNeed int // jobs in need without a row
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
	*visit
	nodes    []view.Node
	replicas view.Page[view.Replica]
	entries  []ledger.Entry
	next     view.Page[view.Next]
	open     view.OpenCommands
	inNeed   []view.JobInNeed
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
	data := readOverview(ctx, v, shown.Duration)
	if data.unknown != nil { // the lines say so; show no old parts
		v.Stale, v.Why = time.Time{}, ""
	}
	why := ""
	if v.query.Get("range") == "" && data.fresh() {
		shown = timeRanges()[0]
		data.since = v.Now.Add(-shown.Duration)
		why = "All runs are from the last 15 minutes."
	}
	o := overview{
		Lines: data.lines(), Timeline: draw(data, shown.Duration), Next: data.next.Items[:min(len(data.next.Items), 8)],
		Why: why, Stopped: view.MarginOf(data.nodes).Stopped, Unknown: data.unknown != nil,
	}
	o.Needs, o.MoreNeed = data.needs()
	for _, e := range data.running() {
		o.Running = append(o.Running, view.NewRun(e))
	}
	for _, r := range timeRanges() {
		o.Ranges = append(o.Ranges, link{r.name, v.With("range", r.name), r == shown})
	}
	return o, nil
}

// fresh reports whether all entries and replicas are younger than the shortest range.
func (data *overviewData) fresh() bool {
	from := data.Now.Add(-timeRanges()[0].Duration)
	return data.unknown == nil && !data.cut && len(data.replicas.Items) > 0 &&
		!slices.ContainsFunc(data.entries, func(e ledger.Entry) bool { return e.OrderKey().Before(from) }) &&
		!slices.ContainsFunc(data.replicas.Items, func(r view.Replica) bool { return view.Time(r.Started).Before(from) })
}

// readOverview reads all parts in parallel.
func readOverview(ctx context.Context, v *visit, span time.Duration) *overviewData {
	data := &overviewData{visit: v, asked: v.Now.Add(-span)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	part := func(read func() error) {
		wg.Go(func() {
			if err := read(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				data.unknown = err
			}
		})
	}
	part(func() (err error) { data.nodes, err = v.p.cfg.Control.Nodes(ctx); return err })
	part(func() (err error) {
		data.replicas, err = rows[view.Replica](ctx, v, "/replicas", nil)
		return err
	})
	part(func() (err error) {
		data.next, err = rows[view.Next](ctx, v, "/next", url.Values{"limit": {strconv.Itoa(overviewNext)}})
		return err
	})
	part(func() (err error) {
		data.open, err = lastKnown(v, "open", func() (view.OpenCommands, error) { return v.p.cfg.Control.OpenCommands(ctx) })
		return err
	})
	part(func() error { return data.readLatest(ctx) })
	wg.Wait()
	if !v.Stale.IsZero() { // none of them starts before the nodes answer again
		data.next.Items = nil
	}
	return data
}

// readLatest reads the latest ticks of the range, the jobs in need, and the problems of the last 24 hours.
func (data *overviewData) readLatest(ctx context.Context) error {
	p, err := lastKnown(data.visit, "latest "+data.query.Get("range"), func() (view.EntryPage, error) {
		return data.p.cfg.Control.Recent(ctx, view.EntryQuery{Limit: overviewTicks, Ticks: true, Since: data.asked})
	})
	data.since = data.asked
	if err != nil {
		return err
	}
	data.entries = p.Entries
	from := data.asked
	if data.cut = !p.Next.IsZero() && len(p.Entries) > 0; data.cut {
		data.since = p.Entries[len(p.Entries)-1].OrderKey()
		from = data.since.Add(time.Millisecond)
	}
	data.inNeed, err = lastKnown(data.visit, "in need", func() ([]view.JobInNeed, error) {
		return data.p.cfg.Control.InNeed(ctx, p.Newest, data.Now)
	})
	if err != nil {
		return err
	}
	data.problems, err = lastKnown(data.visit, "problems", func() ([]view.JobProblems, error) {
		return data.p.problems.Read(ctx, data.p.cfg.Control.Reader, p.Entries, from, data.Now)
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

// lines describes the cluster, the most important first.
func (data *overviewData) lines() []line {
	lines := []line{nodesLine(data.visit, data.nodes)}
	for _, text := range data.p.warnings() {
		lines = append(lines, warning(text))
	}
	if data.unknown != nil {
		why := "no quorum of nodes answers"
		switch {
		case view.Quorate(data.nodes) == nil && data.OneStore():
			why = "it could not be read, although the store answers"
		case view.Quorate(data.nodes) == nil:
			why = "it could not be read, although the nodes answer"
		case data.OneStore():
			why = "the store does not answer"
		}
		return append(lines, line{view.Sentence{Level: view.Bad, Text: "The state of the replicas is unknown: " + why + ".", More: data.unknown.Error()}, data.To("/nodes")})
	}
	var latest []view.Tick
	for _, e := range data.entries {
		latest = append(latest, view.NewTick(e))
	}
	lines = append(lines, data.replicaLine(latest),
		line{view.TickHealth(latest, data.cut, data.countedSince()), data.To("/ticks")},
		data.problemLine(view.Bad, "Failed", view.ProblemFailed, whyOf),
		data.problemLine(view.Warn, "Missed", view.ProblemMissed, whyOf),
		data.problemLine(view.Warn, "Interrupted and run again", view.ProblemInterrupted, interruptedBy),
		data.problemLine(view.Warn, "A guard refused stale writes", view.ProblemStale, staleWriter),
		data.pauseLine(), data.runningLine(), data.uncountedLine(), data.nextLine())
	return slices.DeleteFunc(lines, func(l line) bool { return l.Text == "" })
}

// warning is a line without details.
func warning(text string) line { return line{Sentence: view.Sentence{Level: view.Warn, Text: text}} }

// nodesLine says how many more nodes may fail.
func nodesLine(v *visit, nodes []view.Node) line {
	return line{view.MarginOf(nodes).Sentence, v.To("/nodes")}
}

// replicaLine describes the replicas, and the ones that are gone.
func (data *overviewData) replicaLine(latest []view.Tick) line {
	s, drift := view.ReplicaHealth(data.replicas.Items, latest, data.asOf())
	switch {
	case !data.Stale.IsZero():
		s.Level, s.Text = view.Calm, "At "+data.clock(data.Stale)+": "+s.Text
	case drift:
		return line{s, data.To("/configuration")}
	}
	return line{s, data.To("/replicas")}
}

// A need is a job whose last tick did not succeed.
type need struct {
	Job   string
	Last  view.Tick
	Story string // when, how often in a row, and what was before
	Cause string
}

// needs are those of the served jobs, the rarest first, and how many more there are.
func (data *overviewData) needs() (list []need, more int) {
	if data.unknown != nil {
		return nil, 0
	}
	for _, j := range data.inNeed[:min(len(data.inNeed), overviewNeeds)] {
		list = append(list, need{
			j.Job, view.NewTick(j.Last.Named(j.Job)), data.story(j.Standing), cmp.Or(view.Why(j.Last.Reason.String(), firstLine(j.Last.Error)), "no reason is known"),
		})
	}
	return list, len(data.inNeed) - len(list)
}

// story says of a job in need since when it is, as far as its ticks were read.
func (data *overviewData) story(s view.Standing) string {
	ended := s.Last.OrderKey()
	if s.Last.Finished.After(ended) {
		ended = s.Last.Finished
	}
	parts := []string{ago(ended.Sub(data.Now))}
	switch known := !s.Good.Tick.IsZero() || s.Since.IsZero(); {
	case !known:
		parts = append(parts, fmt.Sprintf("at least %d in a row", s.InARow))
	case s.InARow > 1:
		parts = append(parts, fmt.Sprintf("%d in a row", s.InARow))
	}
	switch {
	case !s.Good.Tick.IsZero():
		parts = append(parts, "last good "+ago(s.Good.OrderKey().Sub(data.Now)))
	case s.Since.IsZero():
		parts = append(parts, "no success in the ledger")
	default:
		parts = append(parts, "no success back to "+data.clock(s.Since))
	}
	return strings.Join(parts, " · ")
}

// problemLine names the jobs with a problem in the last 24 hours, the latest first.
func (data *overviewData) problemLine(level view.Level, name string, kind view.Problem, why func(ledger.Entry) string) line {
	list := view.WithProblem(data.problems, kind)
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
		More: "Last " + ago(last.OrderKey().Sub(data.Now)) + ", " + last.Job + ": " + why(last),
	}, data.runPath(last)}
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
func (data *overviewData) uncountedLine() line {
	var dropped, unread []string
	for _, p := range data.problems {
		switch text := p.Job + " since " + data.clock(p.Since); {
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
		}, data.To("/ticks")}
	case len(dropped) > 0:
		return line{view.Sentence{
			Level: view.Calm, Text: "The ledger keeps less than 24 h of " + view.And(dropped) + ".",
			More: "Earlier failed and missed ticks are not counted. history.keep and history.max_age of a job bound what is kept, at most 1000 runs.",
		}, data.To("/ticks")}
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

func (data *overviewData) pauseLine() line {
	if data.open.Unknown != "" {
		return line{view.Sentence{Level: view.Warn, Text: data.open.Unknown + "."}, data.To("/nodes")}
	}
	var names []string
	for _, p := range data.open.Pauses {
		names = append(names, p.Target())
	}
	if len(names) == 0 {
		return line{}
	}
	first := data.open.Pauses[0]
	return line{view.Sentence{
		Level: view.Warn, Text: "Paused: " + view.And(names) + ".",
		More: first.By + " " + ago(first.At.Sub(data.Now)) + ": " + first.Reason,
	}, data.To("/jobs")}
}

func (data *overviewData) runningLine() line {
	list := data.running()
	if len(list) == 0 {
		return line{Sentence: view.Sentence{Level: view.Calm, Text: "Nothing is running."}}
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Job+" (replica "+e.Replica+")")
	}
	s := view.Sentence{Level: view.Calm, Text: fmt.Sprintf("%d running: %s.", len(list), view.And(names))}
	return line{s, data.To("/ticks") + data.Query("outcome", string(ledger.Running))}
}

func (data *overviewData) nextLine() line {
	switch {
	case !data.Stale.IsZero(): // none starts before the nodes answer again
		return line{}
	case len(data.next.Items) == 0:
		return line{view.NoTickPlanned(), data.To("/jobs")}
	}
	n := data.next.Items[0]
	if i := slices.IndexFunc(data.next.Items, func(n view.Next) bool { return n.Paused == nil }); i >= 0 {
		n = data.next.Items[i]
	}
	at := view.Time(cmp.Or(n.Start, &n.Tick))
	text := "Next: " + n.Job + " "
	if view.MarginOf(data.nodes).Stopped {
		text = "Next, if ticks can start by then: " + n.Job + " "
	}
	if n.Paused != nil {
		text = "All next ticks are paused: " + n.Job + " skips its tick "
	}
	return line{view.Sentence{Level: view.Calm, Text: text + ago(at.Sub(data.Now)) + ", at " + data.clock(at) + "."}, data.To("/jobs", n.Job)}
}

// running returns the entries of open runs.
func (data *overviewData) running() []ledger.Entry {
	return slices.DeleteFunc(slices.Clone(data.entries), func(e ledger.Entry) bool { return e.Outcome != ledger.Running })
}

// countedSince is the time of the first counted tick, or of the start of the range.
func (data *overviewData) countedSince() string {
	if data.cut {
		return data.clock(data.since)
	}
	return data.minute(data.since)
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
