package cmd

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A section is a titled part of the frame.
type section struct {
	title string
	few   int // rows that it has before others get more
	// endless: there are always more than are known.
	endless bool
	grid
}

// sections are the parts that have something to show, the most urgent first.
func (d topData) sections(now time.Time) []section {
	all := []section{d.unwellRows(now), d.runningRows(now), d.nextRows(now), d.replicaRows(d.asOf(now)), d.nodeRows()}
	for i, s := range all {
		if nodes := i == len(all)-1; nodes && d.nodesErr == nil || !nodes && d.err == nil {
			continue
		}
		for j, row := range s.rows { // old
			s.rows[j] = textLine(row).in(faint)
		}
	}
	return slices.DeleteFunc(all, func(s section) bool { return len(s.rows) == 0 })
}

// unwellRows has a row for each job: the last tick that did not go well, and how many
// there were.
func (d topData) unwellRows(now time.Time) section {
	s := section{title: "DID NOT GO WELL", few: 6, grid: grid{drop: []int{5}, cut: []int{6, 2}}}
	times := map[string]int{}
	for _, t := range d.ticks {
		if unwell(t) {
			times[t.Job]++
		}
	}
	for _, t := range d.ticks {
		n := times[t.Job]
		if !unwell(t) || n == 0 {
			continue
		}
		times[t.Job] = 0
		often := ""
		if n > 1 {
			often = fmt.Sprintf("%d times", n)
		}
		level := tickLevel(t)
		s.rows = append(s.rows, []span{
			shape(level),
			{clockAt(listing.Time(&t.Tick), now), plain},
			{clip(t.Job, 32), bold},
			{strings.ReplaceAll(string(t.Outcome), "_", " "), level},
			{often, warn},
			{clip(dash(t.Replica), 24), faint},
			{whyUnwell(t), plain},
		})
	}
	return s
}

func whyUnwell(t listing.Tick) string {
	why := why(t.Run)
	if t.StaleWrites == 0 {
		return why
	}
	return strings.TrimSuffix(listing.Count(t.StaleWrites, "stale write", "stale writes")+" refused: "+why, ": ")
}

func (d topData) runningRows(now time.Time) section {
	s := section{title: "RUNNING", few: 5, grid: grid{drop: []int{5, 4}, cut: []int{1, 2, 6}}}
	for _, r := range d.running {
		s.rows = append(s.rows, []span{
			{"▶", good},
			{clip(r.Job, 32), bold},
			{"on " + clip(dash(r.Replica), 24), plain},
			{"for " + rough(now.Sub(listing.Time(r.Started))), plain},
			{"tick " + clockAt(listing.Time(&r.Tick), now), faint},
			{"token " + dash(r.Token), faint},
			{unusual(r), warn},
		})
	}
	return s
}

func (d topData) nextRows(now time.Time) section {
	s := section{title: "NEXT", endless: true, few: 2, grid: grid{cut: []int{1, 4}}}
	for _, n := range d.next {
		at := listing.Time(cmp.Or(n.Start, &n.Tick))
		in := "in " + rough(at.Sub(now))
		if at.Before(now) {
			in = "now"
		}
		s.rows = append(s.rows, []span{{"·", faint}, {clip(n.Job, 32), bold}, {in, plain}, {clockAt(at, now), faint}, {n.Remark(), faint}})
	}
	return s
}

func (d topData) replicaRows(now time.Time) section {
	s := section{title: "REPLICAS", few: 3, grid: grid{drop: []int{7, 6, 4}, cut: []int{8, 1}}}
	won := map[string]int{}
	for _, t := range d.ticks {
		if t.Outcome.Ran() {
			won[listing.Text(t.Replica)]++
		}
	}
	for _, r := range d.replicas {
		level := good
		if r.State != scheduler.StateReady || quiet(r, now) {
			level = warn
		}
		running := "idle"
		if len(r.Running) > 0 {
			running = "runs " + listing.And(r.Running)
		}
		s.rows = append(s.rows, []span{
			shape(level),
			{clip(r.ID, 32), bold},
			{r.State, level},
			{fmt.Sprintf("won %d", won[r.ID]), plain},
			{"up " + rough(now.Sub(listing.Time(r.Started))), plain},
			{"seen " + rough(now.Sub(listing.Time(r.Seen))) + " ago", plain},
			{r.Host + ":" + strconv.Itoa(r.PID), faint},
			{r.Version, faint},
			{running, plain},
		})
	}
	return oddFirst(s)
}

func (d topData) nodeRows() section {
	s := section{title: "NODES", few: 5, grid: grid{drop: []int{5}, cut: []int{6, 2}}}
	for _, n := range d.nodes {
		level := bad
		switch n.State {
		case "voting":
			level = good
		case "abstaining", listing.NodeSlow:
			level = warn
		}
		s.rows = append(s.rows, []span{
			shape(level),
			{listing.Text(n.Cell), faint},
			{clip(n.Node, 40), bold},
			{n.State, level},
			{far(n), plain},
			{ahead(n), faint},
			{nodeNotes(n), plain},
		})
	}
	return oddFirst(s)
}

// far is how long a node takes to answer.
func far(n listing.Node) string {
	if n.RTTMillis == nil {
		return ""
	}
	return ms(n.RTTMillis)
}

// ahead is how far the clock of a node stands apart, if that is a millisecond or more.
func ahead(n listing.Node) string {
	if n.OffsetMilli == nil || math.Abs(*n.OffsetMilli) < 1 {
		return ""
	}
	return fmt.Sprintf("clock %+.0fms", *n.OffsetMilli)
}

// oddFirst puts the rows first that want to be looked at.
func oddFirst(s section) section {
	slices.SortStableFunc(s.rows, func(x, y []span) int { return cmp.Compare(y[0].style, x[0].style) })
	return s
}
