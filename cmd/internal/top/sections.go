package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A section is a titled part of the frame.
type section struct {
	title string
	order string // of its rows, for people; empty: it has only one
	few   int    // rows it gets before other sections get more
	// endless: the list has no known end.
	endless bool
	grid
}

// A kind is what a row is about.
type kind int

const (
	nothing kind = iota
	aJob
	aReplica
	aNode
)

// A subject is one job, replica or node.
type subject struct {
	kind kind
	name string
}

// A rowID tells a row from the others of a frame. It stays the same over polls, so the
// selection stays on the row while others come and go.
type rowID struct {
	section string
	about   subject
	detail  string // the outcome of a problem, the tick of a run, the process of a replica
}

// add adds a row to the section.
func (s *section) add(id rowID, cells textLine) {
	id.section = s.title
	s.rows = append(s.rows, row{id, cells})
}

// sections are the sections with rows that match the search, the most urgent first. Those
// of an old snapshot are faint.
func (d snapshot) sections(of state, now time.Time) []section {
	all := []section{d.problemRows(of.order, now), d.runningRows(now), d.nextRows(now), d.replicaRows(d.asOf(now)), d.nodeRows()}
	for i := range all {
		s := &all[i]
		s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return !of.matches(r.id.about.name) })
		err := d.err
		if i == len(all)-1 {
			err = d.nodesErr
		}
		if err != nil {
			for _, r := range s.rows {
				fade(r.cells)
			}
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.rows) == 0 })
}

// rowIDs are those of all rows, in their order.
func rowIDs(all []section) (ids []rowID) {
	for _, s := range all {
		for _, r := range s.rows {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// fade makes a line faint.
func fade(line textLine) {
	for i := range line {
		line[i].style = faint
	}
}

// An order is that of the problems.
type order int

const (
	newestFirst order = iota
	oftenFirst
	byName
	orders // how many there are
)

func (o order) String() string {
	return [...]string{newestFirst: "newest first", oftenFirst: "most often first", byName: "by name"}[o]
}

// A problem is what several ticks of a job have in common.
type problem struct {
	last  view.Tick
	times int
}

// problems are the problems of the latest ticks, in an order.
func (d snapshot) problems(by order) (list []problem) {
	type common struct {
		job     string
		outcome ledger.Outcome
	}
	at := map[common]int{}
	for _, t := range d.ticks {
		if levelOf(t.Level()) < warn {
			continue
		}
		c := common{t.Job, t.Outcome}
		if _, known := at[c]; !known {
			at[c] = len(list)
			list = append(list, problem{last: t})
		}
		list[at[c]].times++
	}
	slices.SortStableFunc(list, func(x, y problem) int {
		switch by {
		case oftenFirst:
			return cmp.Compare(y.times, x.times)
		case byName:
			return strings.Compare(x.last.Job, y.last.Job)
		}
		return 0
	})
	return list
}

// problemRows has a row for each job and outcome with problems: the last one, and how many
// there were.
func (d snapshot) problemRows(by order, now time.Time) section {
	s := section{title: "PROBLEMS", order: by.String(), few: 6, grid: grid{drop: []int{5}, cut: []int{6, 2}, most: map[int]int{2: 32, 5: 24}}}
	for _, p := range d.problems(by) {
		t, often := p.last, ""
		if p.times > 1 {
			often = fmt.Sprintf("%d times", p.times)
		}
		level := levelOf(t.Level())
		s.add(rowID{about: subject{aJob, t.Job}, detail: string(t.Outcome)}, textLine{
			shape(level),
			{clockAt(view.Time(&t.Tick), now), plain},
			{t.Job, bold},
			{strings.ReplaceAll(string(t.Outcome), "_", " "), level},
			{often, warn},
			{output.Dash(t.Replica), faint},
			{problemText(t), plain},
		})
	}
	return s
}

func problemText(t view.Tick) string {
	why := output.Why(t.Run)
	if t.StaleWrites == 0 {
		return why
	}
	return strings.TrimSuffix(view.Count(t.StaleWrites, "stale write", "stale writes")+" refused: "+why, ": ")
}

func (d snapshot) runningRows(now time.Time) section {
	s := section{title: "RUNNING", few: 5, grid: grid{drop: []int{5, 4}, cut: []int{1, 2, 6}, most: map[int]int{1: 32, 2: 27}}}
	for _, r := range d.running {
		s.add(rowID{about: subject{aJob, r.Job}, detail: r.Tick}, textLine{
			{"▶", good},
			{r.Job, bold},
			{"on " + output.Dash(r.Replica), plain},
			{"for " + output.Rough(now.Sub(view.Time(r.Started))), plain},
			{"tick " + clockAt(view.Time(&r.Tick), now), faint},
			{"token " + output.Dash(r.Token), faint},
			{output.Unusual(r), warn},
		})
	}
	return s
}

func (d snapshot) nextRows(now time.Time) section {
	s := section{title: "NEXT", endless: true, few: 2, grid: grid{cut: []int{1, 4}, most: map[int]int{1: 32}}}
	for _, n := range d.next {
		at := view.Time(cmp.Or(n.Start, &n.Tick))
		in := "in " + output.Rough(at.Sub(now))
		if at.Before(now) {
			in = "now"
		}
		s.add(rowID{about: subject{aJob, n.Job}}, textLine{{"·", faint}, {n.Job, bold}, {in, plain}, {clockAt(at, now), faint}, {n.Remark(), faint}})
	}
	return s
}

func (d snapshot) replicaRows(now time.Time) section {
	s := section{title: "REPLICAS", few: 3, grid: grid{drop: []int{7, 6, 4}, cut: []int{8, 1}, most: map[int]int{1: 32}}}
	won := map[string]int{}
	for _, t := range d.ticks {
		if t.Ran() {
			won[view.Text(t.Replica)]++
		}
	}
	for _, r := range d.replicas {
		level := levelOf(r.Level(now))
		running := "idle"
		if len(r.Running) > 0 {
			running = "runs " + view.And(r.Running)
		}
		s.add(rowID{about: subject{aReplica, r.ID}, detail: instance(r)}, textLine{
			shape(level),
			{r.ID, bold},
			{r.State, level},
			{fmt.Sprintf("won %d", won[r.ID]), plain},
			{"up " + output.Rough(now.Sub(view.Time(r.Started))), plain},
			{"seen " + output.Rough(now.Sub(view.Time(r.Seen))) + " ago", plain},
			{r.Host + ":" + strconv.Itoa(r.PID), faint},
			{r.Version, faint},
			{running, plain},
		})
	}
	return worstFirst(s)
}

func (d snapshot) nodeRows() section {
	title := "NODES"
	if len(d.nodes) > 0 && d.nodes[0].Kind == view.KindStore {
		title = "STORE"
	}
	s := section{title: title, few: 5, grid: grid{drop: []int{4}, cut: []int{5, 1}, most: map[int]int{1: 40}}}
	for _, n := range d.nodes {
		level, latency := levelOf(n.Level()), ""
		if n.RTTMillis != nil {
			latency = output.Millis(n.RTTMillis)
		}
		s.add(rowID{about: subject{aNode, n.Node}}, textLine{
			shape(level),
			{n.Node, bold},
			{n.State, level},
			{latency, plain},
			{clockOffset(n), faint},
			{output.NodeNotes(n), plain},
		})
	}
	return worstFirst(s)
}

// clockOffset is the offset of a node's clock, if it is a millisecond or more.
func clockOffset(n view.Node) string {
	if n.OffsetMilli == nil || math.Abs(*n.OffsetMilli) < 1 {
		return ""
	}
	return fmt.Sprintf("clock %+.0fms", *n.OffsetMilli)
}

// worstFirst sorts the rows that need attention first.
func worstFirst(s section) section {
	slices.SortStableFunc(s.rows, func(x, y row) int { return cmp.Compare(y.cells[0].style, x.cells[0].style) })
	return s
}

// instance tells two processes with one name apart.
func instance(r view.Replica) string {
	return fmt.Sprintf("%s %d %s", r.Host, r.PID, view.Text(r.Instance))
}
