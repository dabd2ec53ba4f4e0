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
	few   int // rows it gets before other sections get more
	// endless: the list has no known end.
	endless bool
	grid
}

// sections are the sections with rows, the most urgent first.
func (d snapshot) sections(now time.Time) []section {
	all := []section{d.problemRows(now), d.runningRows(now), d.nextRows(now), d.replicaRows(d.asOf(now)), d.nodeRows()}
	for i, s := range all {
		if nodes := i == len(all)-1; nodes && d.nodesErr == nil || !nodes && d.err == nil {
			continue
		}
		for j, row := range s.rows { // an old snapshot
			s.rows[j] = textLine(row).in(faint)
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.rows) == 0 })
}

// problemRows has a row for each job and outcome with problems: the last one, and how many
// there were.
func (d snapshot) problemRows(now time.Time) section {
	s := section{title: "PROBLEMS", few: 6, grid: grid{drop: []int{5}, cut: []int{6, 2}, most: map[int]int{2: 32, 5: 24}}}
	type problem struct {
		job     string
		outcome ledger.Outcome
	}
	times := map[problem]int{}
	for _, t := range d.ticks {
		if isProblem(t) {
			times[problem{t.Job, t.Outcome}]++
		}
	}
	for _, t := range d.ticks {
		of := problem{t.Job, t.Outcome}
		n := times[of]
		if !isProblem(t) || n == 0 {
			continue
		}
		times[of] = 0
		often := ""
		if n > 1 {
			often = fmt.Sprintf("%d times", n)
		}
		level := levelOf(t.Level())
		s.rows = append(s.rows, []span{
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
		s.rows = append(s.rows, []span{
			{"▶", good},
			{r.Job, bold},
			{"on " + output.Dash(r.Replica), plain},
			{"for " + rough(now.Sub(view.Time(r.Started))), plain},
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
		in := "in " + rough(at.Sub(now))
		if at.Before(now) {
			in = "now"
		}
		s.rows = append(s.rows, []span{{"·", faint}, {n.Job, bold}, {in, plain}, {clockAt(at, now), faint}, {n.Remark(), faint}})
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
		s.rows = append(s.rows, []span{
			shape(level),
			{r.ID, bold},
			{r.State, level},
			{fmt.Sprintf("won %d", won[r.ID]), plain},
			{"up " + rough(now.Sub(view.Time(r.Started))), plain},
			{"seen " + rough(now.Sub(view.Time(r.Seen))) + " ago", plain},
			{r.Host + ":" + strconv.Itoa(r.PID), faint},
			{r.Version, faint},
			{running, plain},
		})
	}
	return worstFirst(s)
}

func (d snapshot) nodeRows() section {
	s := section{title: nodesTitle(d.nodes), few: 5, grid: grid{drop: []int{4}, cut: []int{5, 1}, most: map[int]int{1: 40}}}
	for _, n := range d.nodes {
		level := levelOf(n.Level())
		s.rows = append(s.rows, []span{
			shape(level),
			{n.Node, bold},
			{n.State, level},
			{latency(n), plain},
			{clockOffset(n), faint},
			{output.NodeNotes(n), plain},
		})
	}
	return worstFirst(s)
}

func nodesTitle(rows []view.Node) string {
	if len(rows) > 0 && rows[0].Kind == view.KindStore {
		return "STORE"
	}
	return "NODES"
}

// latency is the response time of a node.
func latency(n view.Node) string {
	if n.RTTMillis == nil {
		return ""
	}
	return output.Millis(n.RTTMillis)
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
	slices.SortStableFunc(s.rows, func(x, y []span) int { return cmp.Compare(y[0].style, x[0].style) })
	return s
}
