package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
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

// timeRange is the choice in the query, else the usual one.
func (v *visit) timeRange(usual string) (timeRange, error) {
	name := cmp.Or(v.query.Get("range"), usual)
	i := slices.IndexFunc(timeRanges(), func(r timeRange) bool { return r.name == name })
	if i < 0 {
		return timeRange{}, &view.InvalidError{Msg: strconv.Quote(name) + " is not a range; write 15m, 1h, 6h, 24h or 7d"}
	}
	return timeRanges()[i], nil
}

// ranges are links to all choices.
func (v *visit) ranges(chosen timeRange) (list []link) {
	for _, r := range timeRanges() {
		list = append(list, link{Text: r.name, Path: v.With("range", r.name), Here: r == chosen})
	}
	return list
}

// An overview says what needs somebody, and shows jobs over time.
type overview struct {
	Status   line
	Also     []line // what else is not as it should be
	First    *stamp // of a new cluster: when its first tick starts; else nil
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

func loadOverview(ctx context.Context, v *visit) (any, error) {
	chosen, err := v.timeRange("1h")
	if err != nil {
		return nil, err
	}
	control := v.p.cfg.Control
	data := readCluster(ctx, v, &v.p.past, (*clusterData).mostWanted, func(data *clusterData) (err error) {
		data.nodes, err = control.Nodes(ctx)
		return err
	}, func(data *clusterData) (err error) {
		data.replicas, err = rows[view.Replica](ctx, v, "/replicas", nil)
		return err
	})
	if data.unknown != nil { // the status says so; show no old parts
		v.Stale, v.Why = time.Time{}, ""
	}
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
		if n := data.first(); n != nil && o.Status.Level == view.Calm {
			o.First = v.At(cmp.Or(n.Start, &n.Tick))
		}
		o.Needs, o.MoreNeed = data.needs()
		o.Counters, o.Lacks = data.counters(), data.lacks()
		o.Incidents, o.MoreIncidents = data.incidents()
		o.Jobs = data.rows(o.Incidents)
		o.Paused, o.Running = data.paused(), data.running()
		o.MorePaused, o.MoreRunning = max(0, len(o.Paused)-mostRows), max(0, len(o.Running)-mostRows)
		o.Paused, o.Running = o.Paused[:len(o.Paused)-o.MorePaused], o.Running[:len(o.Running)-o.MoreRunning]
		o.PausesUnknown = data.open.Unknown != ""
	}
	o.Ranges = v.ranges(chosen)
	return o, nil
}

// fresh reports whether all that is known is younger than the shortest range.
func (data *clusterData) fresh() bool {
	from := data.Now.Add(-timeRanges()[0].Duration)
	for _, p := range data.past {
		if p.Unread || len(p.Events) > 0 && p.Events[len(p.Events)-1].At.Before(from) {
			return false
		}
	}
	return data.unknown == nil && len(data.replicas.Items) > 0 &&
		!slices.ContainsFunc(data.replicas.Items, func(r view.Replica) bool { return view.Time(r.Started).Before(from) })
}

// mostWanted are the keys of the jobs that the overview shows.
func (data *clusterData) mostWanted() []string {
	keys := data.byTrouble()
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
func (data *clusterData) status() (worst line, also []line) {
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
func (data *clusterData) unknownLine() line {
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
func (data *clusterData) replicaLine() line {
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
func (data *clusterData) ranLately() (list []view.Tick) {
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

// needLine names the jobs in need.
func (data *clusterData) needLine() line {
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

// anyTicked reports whether a job has had a tick.
func (data *clusterData) anyTicked() bool {
	for _, at := range data.newest {
		if !at.IsZero() {
			return true
		}
	}
	return false
}

// first is the first tick of a cluster without one so far; nil if there were some, or none is planned that will run.
func (data *clusterData) first() *view.Next {
	i := slices.IndexFunc(data.next, func(n view.Next) bool { return n.Paused == nil })
	if i < 0 || data.anyTicked() {
		return nil
	}
	return &data.next[i]
}

// fineLine is the status of a cluster with nothing that needs anybody.
func (data *clusterData) fineLine() line {
	live := 0
	for _, key := range data.directory.Keys {
		if data.directory.Last[key].Live {
			live++
		}
	}
	n := data.first()
	switch {
	case live == 0:
		return line{view.Sentence{Level: view.Calm, Text: "No replica serves a job yet."}, data.To("/replicas")}
	case n != nil:
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		return line{view.Sentence{Level: view.Calm, Text: "No job has had a tick yet. The first is that of " + n.Job + ", at " + data.clock(at) + "."}, data.To("/jobs", n.Job)}
	case !data.anyTicked() && len(data.next) > 0:
		return line{view.Sentence{Level: view.Calm, Text: "No job has had a tick yet, and all next ones are paused."}, data.To("/jobs")}
	case !data.anyTicked():
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
func (data *clusterData) needs() (list []need, more int) {
	for _, j := range data.inNeed[:min(len(data.inNeed), overviewNeeds)] {
		list = append(list, need{
			j.Job, view.NewTick(j.Last.Named(j.Job)), data.story(j.Standing), causeOfTick(j.Last),
		})
	}
	return list, len(data.inNeed) - len(list)
}

// causeOfTick is why a tick did not succeed, on one line.
func causeOfTick(e ledger.Entry) string {
	return cmp.Or(view.Why(e.Reason.String(), firstLine(e.Error)), "no reason is known")
}

// story says of a job in need since when it is, as far as its ticks were read.
func (t times) story(s view.Standing) string {
	ended := s.Last.OrderKey()
	if s.Last.Finished.After(ended) {
		ended = s.Last.Finished
	}
	parts := []string{ago(min(0, ended.Sub(t.Now)))} // it may have ended while this was read
	switch known := !s.Good.Tick.IsZero() || s.Since.IsZero(); {
	case !known:
		parts = append(parts, fmt.Sprintf("at least %d in a row", s.InARow))
	case s.InARow > 1:
		parts = append(parts, fmt.Sprintf("%d in a row", s.InARow))
	}
	switch {
	case !s.Good.Tick.IsZero():
		parts = append(parts, "last good "+ago(s.Good.OrderKey().Sub(t.Now)))
	case !s.GoodDropped.IsZero():
		parts = append(parts, "last good "+ago(s.GoodDropped.Sub(t.Now))+", no longer in the ledger")
	case s.Since.IsZero():
		parts = append(parts, "no success in the ledger")
	default:
		parts = append(parts, "no success back to "+t.clock(s.Since))
	}
	return strings.Join(parts, " · ")
}

// mostRows bounds the lists beside one another.
const mostRows = 20

// A paused is a pause, or a job that is paused in the configuration.
type paused struct {
	Target, Why, By string
	At, Ends        time.Time // zero: unknown, or it lasts until it is resumed
	Forgotten       bool      // it has no end, and is more than a week old
}

// longPause is after how long somebody may have forgotten a pause.
const longPause = 7 * 24 * time.Hour

func (data *clusterData) paused() (list []paused) {
	for _, c := range data.open.Pauses {
		target := c.Target()
		if v, known := data.directory.Last[c.Job]; known {
			target = v.Name
		}
		list = append(list, paused{target, c.Reason, c.By, c.At, c.Ends(), c.Ends().IsZero() && data.asOf().Sub(c.At) > longPause})
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

func (data *clusterData) running() (list []running) {
	for key, p := range data.trouble {
		for _, e := range p.Events {
			if e.Outcome != ledger.Running {
				continue
			}
			one := running{Job: data.nameOf(key), ID: e.ID(data.nameOf(key)), Replica: e.Replica, since: e.Started}
			if !e.Started.IsZero() {
				one.For = view.Span(max(0, data.asOf().Sub(e.Started)))
				if took := view.Durations(data.past[key].Events); len(took) >= leastRuns {
					one.For += " of about " + view.Span(view.Quantile(took, 0.5))
				}
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(x, y running) int { return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.ID, y.ID)) })
	return list
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
