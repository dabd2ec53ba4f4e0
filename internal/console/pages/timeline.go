package pages

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Sizes of the timeline: vertical ones in pixels, horizontal ones in percent.
const (
	laneHead   = 18 // for the name of the lane
	barHeight  = 12
	barStep    = 15
	laneFoot   = 6
	axisHeight = 22
	mostRows   = 6   // of overlapping runs in a lane; others are drawn over the last
	leastWide  = 0.5 // percent
	nearNow    = 9   // percent without other labels
	futurePart = 5   // the future takes 1/5 of the width
)

// A timeline draws ticks: a lane for each replica, one for ticks that did not run, one for
// planned ticks.
type timeline struct {
	Lanes       []lane
	Grid        []gridLine
	Height      int
	NowX, Ahead string // position of now, and width of the future
	Cut         string // why it shows less than the range
	Empty       bool
}

// A lane stacks overlapping bars.
type lane struct {
	Name, About string
	Y, Height   int
	Bars        []bar
}

// A bar is a run, or the mark of a tick that did not run or is planned.
type bar struct {
	X, Width string // percent
	Y        int
	mark
	Kind  string // bar, tick, plan, lost
	Title string
	Path  string

	from, to float64
}

type gridLine struct {
	X, Text, ISO string
	Local        bool
}

// A ruler converts times to positions.
type ruler struct {
	from, to time.Time
}

func (r ruler) at(t time.Time) float64 {
	return 100 * float64(t.Sub(r.from)) / float64(r.to.Sub(r.from))
}

// point places a bar at a time.
func (r ruler) point(at time.Time, b bar) bar {
	b.from, b.to = max(0, r.at(at)), r.at(at)
	return b
}

func percent(x float64) string { return fmt.Sprintf("%.2f%%", x) }

// A drawing places what was read on a ruler.
type drawing struct {
	*overviewData
	ruler
	runs, idle []ledger.Entry // the ticks that ran, and the others
}

// draw makes the timeline of a range.
func draw(data *overviewData, span time.Duration) timeline {
	d := drawing{overviewData: data, ruler: ruler{from: data.Now.Add(-span), to: data.Now.Add(span / (futurePart - 1))}}
	for _, e := range data.entries {
		if e.Ran() {
			d.runs = append(d.runs, e)
		} else {
			d.idle = append(d.idle, e)
		}
	}
	now := d.at(d.Now)
	t := timeline{NowX: percent(now), Ahead: percent(100 - now), Grid: d.grid()}
	if d.cut {
		t.Cut = fmt.Sprintf("Only the latest %d ticks are drawn, since %s.", len(d.entries), d.clock(d.since))
	}
	y := axisHeight
	add := func(l lane) {
		l.stack()
		l.Y = y
		for i := range l.Bars {
			l.Bars[i].Y += y + laneHead
		}
		y += l.Height
		t.Lanes = append(t.Lanes, l)
	}
	for _, name := range d.laneNames() {
		add(d.replicaLane(name))
	}
	if len(d.idle) > 0 {
		add(d.idleLane())
	}
	add(d.plannedLane())
	t.Height = y
	t.Empty = len(d.entries)+len(d.next.Items) == 0
	return t
}

// laneNames are the replicas on the roster, and those that ran one of the ticks.
func (d drawing) laneNames() []string {
	var names []string
	for _, one := range d.replicas.Items {
		names = append(names, one.ID)
	}
	for _, e := range d.runs {
		if e.Replica != "" {
			names = append(names, e.Replica)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (d drawing) replicaLane(name string) lane {
	l := lane{Name: name, About: "gone"}
	for _, one := range d.replicas.Items {
		if one.ID == name {
			l.About = one.State
		}
	}
	for _, e := range d.runs {
		if e.Replica == name {
			l.Bars = append(l.Bars, d.runBar(e))
		}
	}
	l.About += fmt.Sprintf(", won %d of %s", len(l.Bars), view.Count(len(d.runs), "tick", "ticks"))
	for _, c := range d.p.contests.since(d.from) {
		if name == d.p.cfg.ID {
			l.Bars = append(l.Bars, d.point(c.at, bar{
				Kind: "lost", mark: mark{"calm", "○", "lost"}, Path: d.To("/jobs", c.job),
				Title: fmt.Sprintf("%s, tick %s: another replica ran it (contest lost)", c.job, d.clock(c.tick)),
			}))
		}
	}
	return l
}

// runBar is the bar of a run.
func (d drawing) runBar(e ledger.Entry) bar {
	row := view.NewTick(e)
	end, took := e.Finished, d.Took(row.Run)
	if end.IsZero() {
		end = e.Started
		if e.Outcome == ledger.Running {
			end = d.Now
		}
	}
	m := markOf(e.Outcome)
	head := e.Job + " " + m.Word
	if took != "" {
		head += " after " + took
	}
	again := ""
	if e.Interruptions > 0 {
		again = "run again: an attempt on " + e.InterruptedOn + " was interrupted"
	}
	title := view.Join("\n", head, "tick "+d.clock(e.Tick)+", started "+d.clock(e.Started),
		strings.TrimSuffix(fmt.Sprintf("token %d, votes %s", e.Token, view.Text(row.Votes)), ", votes "), e.Reason.String(), firstLine(e.Error), again)
	return bar{from: max(0, d.at(e.Started)), to: d.at(end), mark: m, Kind: "bar", Title: title, Path: d.runPath(e)}
}

// idleLane has the ticks that did not run.
func (d drawing) idleLane() lane {
	l := lane{Name: "no run", About: "skipped or missed"}
	for _, e := range d.idle {
		m := markOf(e.Outcome)
		l.Bars = append(l.Bars, d.point(e.OrderKey(), bar{
			mark: m, Kind: "tick", Path: d.runPath(e),
			Title: fmt.Sprintf("%s %s, tick %s\n%s", e.Job, m.Word, d.clock(e.Tick), e.Reason),
		}))
	}
	return l
}

// plannedLane has the planned ticks.
func (d drawing) plannedLane() lane {
	l := lane{Name: "planned", About: "any replica may win"}
	for _, n := range d.next.Items {
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		if at.After(d.to) {
			continue
		}
		b := d.point(at, bar{
			mark: mark{"busy", "○", "planned"}, Kind: "plan", Path: d.To("/jobs", n.Job),
			Title: fmt.Sprintf("%s starts %s, at %s", n.Job, ago(at.Sub(d.Now)), d.clock(at)),
		})
		if n.Paused != nil {
			b.mark = markOf(ledger.Skipped)
			b.Title = fmt.Sprintf("%s skips its tick %s, at %s\n%s", n.Job, ago(at.Sub(d.Now)), d.clock(at), *n.Paused)
		}
		l.Bars = append(l.Bars, b)
	}
	return l
}

// stack puts overlapping bars below one another, and the lost contests in a row below all
// of them.
func (l *lane) stack() {
	slices.SortStableFunc(l.Bars, func(x, y bar) int {
		return cmp.Or(cmp.Compare(x.lost(), y.lost()), cmp.Compare(x.from, y.from))
	})
	var ends []float64 // of each row
	below := -1        // the row of the contests
	for i := range l.Bars {
		b := &l.Bars[i]
		b.to = max(b.to, b.from+leastWide)
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= b.from })
		if b.lost() > 0 {
			row = below
		}
		switch {
		case row >= 0:
			ends[row] = b.to
		case len(ends) < mostRows, b.lost() > 0:
			row, ends = len(ends), append(ends, b.to)
		default:
			row = mostRows - 1
		}
		if b.lost() > 0 {
			below = row
		}
		b.Y, b.X, b.Width = row*barStep, percent(b.from), percent(b.to-b.from)
	}
	l.Height = laneHead + max(1, len(ends))*barStep + laneFoot
}

// grid marks round times.
func (d drawing) grid() []gridLine {
	const lines = 5
	step := time.Minute
	for _, one := range []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour} {
		if d.to.Sub(d.from)/step > lines {
			step = one
		}
	}
	_, offset := d.Now.In(d.zone).Zone()
	shift := time.Duration(offset) * time.Second
	var list []gridLine
	for at := d.from.Add(shift).Truncate(step).Add(step).Add(-shift); at.Before(d.to); at = at.Add(step) {
		if x := d.at(at); x > 2 && x < 97 {
			l := gridLine{X: percent(x), ISO: at.UTC().Format(time.RFC3339), Local: d.local}
			if math.Abs(x-d.at(d.Now)) > nearNow {
				l.Text = at.In(d.zone).Format("15:04")
			}
			list = append(list, l)
		}
	}
	return list
}

// lost is 1 for a lost contest, else 0.
func (b bar) lost() int {
	if b.Kind == "lost" {
		return 1
	}
	return 0
}

// Base is the Y below a bar, for the shape beside it.
func (b bar) Base() int { return b.Y + barHeight - 2 }

// Middle is where a mark is drawn.
func (b bar) Middle() int { return b.Y + barHeight/2 }

// Legend explains the marks.
func (t timeline) Legend() []mark {
	list := []mark{}
	for _, o := range []ledger.Outcome{
		ledger.Succeeded, ledger.Running, ledger.Failed, ledger.TimedOut, ledger.Cancelled, ledger.Skipped, ledger.Missed, ledger.Unreadable,
	} {
		m := markOf(o)
		if o == ledger.TimedOut {
			m.Word = "timed out, lease lost or interrupted"
		}
		list = append(list, m)
	}
	return append(list, mark{"calm", "○", "tick that another replica won"}, mark{"busy", "○", "planned"})
}

// mostContests bounds the remembered contests.
const mostContests = 500

// A contest is a tick that this replica competed for and lost.
type contest struct {
	job      string
	tick, at time.Time
}

// contests are the latest lost contests of this replica. The nodes record only the winner,
// so each replica knows only its own.
type contests struct {
	mu   sync.Mutex
	list []contest
}

// since returns the contests lost since a time.
func (c *contests) since(from time.Time) []contest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.list), func(one contest) bool { return !one.at.After(from) })
}

// Lost records a lost contest.
func (p *Pages) Lost(job string, tick time.Time) {
	c := &p.contests
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list[max(0, len(c.list)-mostContests+1):], contest{job: job, tick: tick, at: time.Now()})
}
