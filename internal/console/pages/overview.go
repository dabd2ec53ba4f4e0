package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Bounds of what the overview shows.
const (
	overviewNeeds = 10 // rows of jobs in need
	overviewJobs  = 40 // rows of jobs over time
	overviewNext  = 6
)

// A timeRange is a choice of how far the overview looks back.
type timeRange struct {
	name string // in the page's query
	time.Duration
	cell time.Duration // of a strip
}

// timeRanges are all choices, the shortest first.
func timeRanges() []timeRange {
	const day = 24 * time.Hour
	return []timeRange{
		{"15m", 15 * time.Minute, 15 * time.Second},
		{"1h", time.Hour, time.Minute},
		{"6h", 6 * time.Hour, 5 * time.Minute},
		{"24h", day, 20 * time.Minute},
		{"7d", view.SurveySpan, 2 * time.Hour},
	}
}

// An overview says what needs somebody, and shows jobs over time.
type overview struct {
	Status   line
	Also     []line // what else is not as it should be
	Needs    []need
	MoreNeed int // jobs in need without a row
	Counters []counter

	Ranges        []link
	Jobs          []jobTimes
	From          *stamp // of the strips
	MoreJobs      int
	Incidents     []incident
	MoreIncidents int
	Lacks         []string // what the page has not read yet, and what the ledger has dropped

	Paused        []paused
	MorePaused    int
	PausesUnknown bool
	Running       []running
	MoreRunning   int
	Next          []view.Next // without those of paused jobs
	AllPaused     bool
	Stopped       bool // no tick can start now
	Unknown       bool // only Status and Also are known: no quorum answers, and nothing was read before
}

// An overviewData is what the overview has read. Parts that could not be read are empty.
type overviewData struct {
	*visit
	grid
	nodes     []view.Node
	replicas  view.Page[view.Replica]
	directory view.Directory
	open      view.OpenCommands
	inNeed    []view.JobInNeed
	next      []view.Next
	trouble   map[string]view.Past // of all jobs, without what ended as it should
	past      map[string]view.Past // of those that are shown, all
	shown     []string             // the keys of those that are shown
	newest    map[string]time.Time // of each job, the newest entry
	unknown   error                // why the rest is empty
}

func loadOverview(ctx context.Context, v *visit) (any, error) {
	name := cmp.Or(v.query.Get("range"), "1h")
	i := slices.IndexFunc(timeRanges(), func(r timeRange) bool { return r.name == name })
	if i < 0 {
		return nil, &view.InvalidError{Msg: strconv.Quote(name) + " is not a range; write 15m, 1h, 6h, 24h or 7d"}
	}
	data := readOverview(ctx, v)
	if data.unknown != nil { // the status says so; show no old parts
		v.Stale, v.Why = time.Time{}, ""
	}
	chosen := timeRanges()[i]
	if v.query.Get("range") == "" && data.fresh() {
		chosen = timeRanges()[0]
	}
	data.grid = newGrid(chosen, v.Now)
	o := overview{
		From: v.At(data.from), Stopped: view.MarginOf(data.nodes).Stopped, Unknown: data.unknown != nil,
		MoreJobs: len(data.directory.Keys) - len(data.shown),
	}
	for _, n := range data.next {
		if n.Paused == nil && len(o.Next) < overviewNext {
			o.Next = append(o.Next, n)
		}
	}
	o.AllPaused = len(data.next) > 0 && len(o.Next) == 0
	o.Status, o.Also = data.status()
	v.Title, v.Level = headline(o.Status.Text), o.Status.Level
	if !o.Unknown {
		o.Needs, o.MoreNeed = data.needs()
		o.Counters, o.Lacks = data.counters(), data.lacks()
		o.Incidents, o.MoreIncidents = data.incidents()
		o.Jobs = data.rows(o.Incidents)
		o.Paused, o.Running = data.paused(), data.running()
		o.MorePaused, o.MoreRunning = max(0, len(o.Paused)-mostRows), max(0, len(o.Running)-mostRows)
		o.Paused, o.Running = o.Paused[:len(o.Paused)-o.MorePaused], o.Running[:len(o.Running)-o.MoreRunning]
		o.PausesUnknown = data.open.Unknown != ""
	}
	for _, r := range timeRanges() {
		o.Ranges = append(o.Ranges, link{Text: r.name, Path: v.With("range", r.name), Here: r == chosen})
	}
	return o, nil
}

// fresh reports whether all that is known is younger than the shortest range.
func (data *overviewData) fresh() bool {
	from := data.Now.Add(-timeRanges()[0].Duration)
	for _, p := range data.past {
		if p.Unread || len(p.Events) > 0 && p.Events[len(p.Events)-1].At.Before(from) {
			return false
		}
	}
	return data.unknown == nil && len(data.replicas.Items) > 0 &&
		!slices.ContainsFunc(data.replicas.Items, func(r view.Replica) bool { return view.Time(r.Started).Before(from) })
}

// readOverview reads all parts in parallel.
func readOverview(ctx context.Context, v *visit) *overviewData {
	data := &overviewData{visit: v}
	control := v.p.cfg.Control
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
	part(func() (err error) { data.nodes, err = control.Nodes(ctx); return err })
	part(func() (err error) {
		data.replicas, err = rows[view.Replica](ctx, v, "/replicas", nil)
		return err
	})
	part(func() (err error) {
		data.open, err = lastKnown(v, "open", func() (view.OpenCommands, error) { return control.OpenCommands(ctx) })
		return err
	})
	part(func() (err error) {
		data.directory, err = lastKnown(v, "directory", func() (view.Directory, error) { return control.Directory(ctx) })
		if err != nil {
			return err
		}
		return data.readPast(ctx)
	})
	wg.Wait()
	if data.unknown == nil && v.Stale.IsZero() { // none of them starts before the nodes answer again
		data.next = control.Soonest(data.directory, data.open, v.Now)
	}
	return data
}

// readPast reads which jobs are in need, the trouble of all, and what became of the ticks of those that are shown.
func (data *overviewData) readPast(ctx context.Context) (err error) {
	reader := data.p.cfg.Control.Reader
	// Without the newest entries nothing else is read: a Survey would take the silence for rest.
	newest, away := reader.Newest(ctx, data.directory.Keys)
	data.newest, err = lastKnown(data.visit, "newest", func() (map[string]time.Time, error) { return newest, away })
	if err != nil {
		return err
	}
	data.inNeed, err = lastKnown(data.visit, "in need", func() ([]view.JobInNeed, error) {
		if away != nil {
			return nil, away
		}
		return reader.InNeed(ctx, newest, data.Now)
	})
	if err != nil {
		return err
	}
	survey := func(name string, s *view.Survey, keys []string) (map[string]view.Past, error) {
		found, err := lastKnown(data.visit, name, func() (map[string]view.Past, error) {
			if away != nil {
				return nil, away
			}
			return s.Read(ctx, reader, keys, newest, data.Now)
		})
		of := map[string]view.Past{} // what is from an earlier time may be of other jobs
		for _, key := range keys {
			if p, known := found[key]; known {
				of[key] = p
			}
		}
		return of, err
	}
	if data.trouble, err = survey("trouble", &data.p.trouble, data.directory.Keys); err != nil {
		return err
	}
	data.shown = data.mostWanted()
	data.past, err = survey("past", &data.p.past, data.shown)
	return err
}

// mostWanted are the keys of the jobs that are shown: those in need, then those with trouble, the latest first.
func (data *overviewData) mostWanted() []string {
	keys := slices.Clone(data.directory.Keys)
	need := map[string]int{}
	for i, j := range data.inNeed {
		need[data.directory.Key(j.Job)] = len(data.inNeed) - i
	}
	last := func(key string) (at time.Time) {
		if events := data.trouble[key].Events; len(events) > 0 {
			at = events[0].At
		}
		return at
	}
	slices.SortStableFunc(keys, func(x, y string) int {
		return cmp.Or(cmp.Compare(need[y], need[x]), last(y).Compare(last(x)))
	})
	return keys[:min(len(keys), overviewJobs)]
}

// A line is one statement about the cluster, with More as small print.
type line struct {
	view.Sentence
	Path string // a page with details
}

// Shape shows the level without colour.
func (l line) Shape() string { return levelShapes[l.Level] }

var levelShapes = map[view.Level]string{view.Good: "✓", view.Calm: "·", view.Warn: "!", view.Bad: "✕"}

// warning is a line without details.
func warning(text string) line { return line{Sentence: view.Sentence{Level: view.Warn, Text: text}} }

// status says in one sentence how the cluster is, and what else is not as it should be.
func (data *overviewData) status() (worst line, also []line) {
	lines := []line{nodesLine(data.visit, data.nodes)}
	for _, text := range data.p.warnings() {
		lines = append(lines, warning(text))
	}
	if data.unknown != nil {
		return data.unknownLine(), lines
	}
	lines = append(lines, data.replicaLine(), data.needLine(), data.againLine(), data.staleLine())
	if data.open.Unknown != "" {
		lines = append(lines, line{view.Sentence{Level: view.Warn, Text: data.open.Unknown + "."}, data.To("/nodes")})
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.Level.Weight() < view.Warn.Weight() })
	if len(lines) == 0 {
		return data.fineLine(), nil
	}
	slices.SortStableFunc(lines, func(x, y line) int { return y.Level.Weight() - x.Level.Weight() })
	return lines[0], lines[1:]
}

// unknownLine says why nothing else is known.
func (data *overviewData) unknownLine() line {
	why := "no quorum of nodes answers"
	switch {
	case view.Quorate(data.nodes) == nil && data.OneStore():
		why = "it could not be read, although the store answers"
	case view.Quorate(data.nodes) == nil:
		why = "it could not be read, although the nodes answer"
	case data.OneStore():
		why = "the store does not answer"
	}
	return line{view.Sentence{Level: view.Bad, Text: "The state of the replicas is unknown: " + why + ".", More: data.unknown.Error()}, data.To("/nodes")}
}

// nodesLine says how many more nodes may fail.
func nodesLine(v *visit, nodes []view.Node) line {
	return line{view.MarginOf(nodes).Sentence, v.To("/nodes")}
}

// replicaLine describes the replicas, and the ones that are gone.
func (data *overviewData) replicaLine() line {
	s, drift := view.ReplicaHealth(data.replicas.Items, data.ranLately(), data.asOf())
	switch {
	case !data.Stale.IsZero():
		s.Level, s.Text = view.Calm, "At "+data.clock(data.Stale)+": "+s.Text
	case drift:
		return line{s, data.To("/configuration")}
	}
	return line{s, data.To("/replicas")}
}

// ranLately has a tick of each replica that ran one in the last hour, and those whose replica died and which did
// not run again.
func (data *overviewData) ranLately() (list []view.Tick) {
	known, since := map[string]bool{}, data.Now.Add(-time.Hour)
	for _, all := range []map[string]view.Past{data.trouble, data.past} {
		for _, key := range data.directory.Keys {
			for _, e := range all[key].Events {
				broken := e.Outcome == ledger.Interrupted
				of := e.Replica + "@" + e.ID(key)
				if e.At.After(since) && e.Ran && (!known[e.Replica] || broken && !known[of]) {
					known[e.Replica], known[of] = true, true
					list = append(list, view.NewTick(ledger.Entry{Job: data.nameOf(key), Tick: e.At, Replica: e.Replica, Outcome: e.Outcome}))
				}
			}
		}
	}
	slices.SortStableFunc(list, func(x, y view.Tick) int { return strings.Compare(y.Tick+y.Job, x.Tick+x.Job) })
	return list
}

// nameOf is the current name of the job with a key.
func (data *overviewData) nameOf(key string) string { return data.directory.Last[key].Name }

// needLine names the jobs in need.
func (data *overviewData) needLine() line {
	var failed, other []string
	for _, j := range data.inNeed {
		if slices.Contains(view.FailedOutcomes(), j.Last.Outcome) {
			failed = append(failed, j.Job)
		} else {
			other = append(other, j.Job)
		}
	}
	missed := view.Count(len(other), "job did not get its last tick done: ", "jobs did not get their last ticks done: ") + view.And(other) + "."
	switch {
	case len(failed) > 0 && len(other) > 0:
		return line{view.Sentence{Level: view.Bad, Text: view.Count(len(failed), "job fails: ", "jobs fail: ") + view.And(failed) + ".", More: missed}, "#needs"}
	case len(failed) > 0:
		return line{view.Sentence{Level: view.Bad, Text: view.Count(len(failed), "job fails: ", "jobs fail: ") + view.And(failed) + "."}, "#needs"}
	case len(other) > 0:
		return line{view.Sentence{Level: view.Warn, Text: missed}, "#needs"}
	}
	return line{}
}

// fineLine is the status of a cluster with nothing that needs anybody.
func (data *overviewData) fineLine() line {
	live, ran := 0, false
	for _, key := range data.directory.Keys {
		if data.directory.Last[key].Live {
			live++
		}
	}
	for _, at := range data.newest {
		ran = ran || !at.IsZero()
	}
	switch {
	case live == 0:
		return line{view.Sentence{Level: view.Calm, Text: "No replica serves a job yet."}, data.To("/replicas")}
	case !ran && len(data.next) > 0:
		n := data.next[0]
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		return line{view.Sentence{Level: view.Calm, Text: "No job has had a tick yet. The first is that of " + n.Job + ", " + ago(at.Sub(data.Now)) + ", at " + data.clock(at) + "."}, data.To("/jobs", n.Job)}
	case !ran:
		return line{view.NoTickPlanned(), data.To("/jobs")}
	}
	return line{view.Sentence{Level: view.Good, Text: "Nothing needs you: of " + view.Count(live, "job", "jobs") + " no last tick failed or was missed."}, data.To("/jobs")}
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
	parts := []string{ago(min(0, ended.Sub(data.Now)))} // it may have ended while this was read
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

// mostRows bounds the lists beside one another.
const mostRows = 20

// A paused is a pause, or a job that is paused in the configuration.
type paused struct {
	Target, Why, By string
	At              time.Time
}

func (data *overviewData) paused() (list []paused) {
	for _, c := range data.open.Pauses {
		target := c.Target()
		if v, known := data.directory.Last[c.Job]; known {
			target = v.Name
		}
		list = append(list, paused{target, c.Reason, c.By, c.At})
	}
	for _, key := range data.directory.Keys {
		if v := data.directory.Last[key]; v.Live && v.Paused {
			list = append(list, paused{Target: v.Name, Why: "in the configuration"})
		}
	}
	return list
}

// A running is a run that goes on.
type running struct {
	Job, ID, Replica string
	For              string // "50 s of about 1 min 40 s"
	since            time.Time
}

func (data *overviewData) running() (list []running) {
	for key, p := range data.trouble {
		for _, e := range p.Events {
			if e.Outcome != ledger.Running {
				continue
			}
			one := running{Job: data.nameOf(key), ID: e.ID(data.nameOf(key)), Replica: e.Replica, since: e.Started}
			if !e.Started.IsZero() {
				one.For = view.Span(max(0, data.asOf().Sub(e.Started)))
				if took := succeeded(data.past[key].Events); len(took) >= leastRuns {
					one.For += " of about " + view.Span(quantile(took, 0.5))
				}
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(x, y running) int { return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.ID, y.ID)) })
	return list
}

// ready counts the replicas that take ticks; skewed ones take those that others leave.
func (data *overviewData) ready() (n int) {
	for _, r := range data.replicas.Items {
		if (r.State == roster.StateReady || r.State == roster.StateSkewed) && r.Silence(data.asOf()) == 0 {
			n++
		}
	}
	return n
}

// headline is the begin of a sentence, for the title of the page.
func headline(text string) string {
	for _, end := range []string{": ", "; ", ". "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
