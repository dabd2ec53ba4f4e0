package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// runPage shows one run, or a tick that did not run.
type runPage struct {
	ID       string
	Last     view.Tick
	Attempts []view.Tick
	Calls    int // of the function, in the last attempt
	Steps    []step
	Votes    []nodeVote
	Errors   string
	NoVotes  string // why Votes are unknown
	Beats    *beatChart
	Log      *view.Log
	NoLog    string // why there is no Log
	Going    bool
	Follow   string // address of the live log
}

// A step is one step in the life of a tick.
type step struct {
	Name  string
	When  *string
	About string
	mark
}

func loadRun(ctx context.Context, v *visit) (any, error) {
	id := v.r.PathValue("run")
	attempts, err := rows[view.Tick](ctx, v, "/runs/{run}", nil)
	if err != nil {
		return nil, err
	}
	last := attempts.Items[0]
	shown := runPage{ID: id, Last: last, Attempts: attempts.Items, Going: last.Outcome == ledger.Running}
	v.Title = last.Job + " at " + v.At(last.Tick).Text
	if v.job {
		if d, err := read[view.JobDetail](ctx, v, "/jobs/{job}", nil, "job", last.Job); err == nil && len(d.Versions) > 0 {
			v.useJobZone(d.Versions[0].Timezone)
		}
	}
	shown.Steps = steps(attempts.Items, v.Took(last.Run))
	if last.Calls != nil {
		shown.Calls = *last.Calls
	}
	if !last.Ran() {
		return shown, nil
	}
	shown.Votes, shown.Errors, shown.NoVotes = votesOf(last)
	shown.Beats = newBeatChart(v.times, last)
	shown.loadLog(ctx, v)
	return shown, nil
}

// loadLog reads the log, and sets Follow for a running run.
func (shown *runPage) loadLog(ctx context.Context, v *visit) {
	log, err := read[view.Log](ctx, v, "/runs/{run}/log", url.Values(nil))
	if err != nil {
		shown.NoLog = v.p.api.Explain(v.r, err).Detail
	} else {
		shown.Log = &log
	}
	if shown.Going {
		shown.NoLog = ""
		shown.Follow = fmt.Sprintf("%s%s/runs/%s/events?after=%d", v.p.cfg.BasePath, api.Prefix, url.PathEscape(shown.ID), log.Cut+len(log.Text))
	}
}

// steps lists the steps of a tick so far; took is the time of the last attempt.
func steps(attempts []view.Tick, took string) []step {
	t, done := attempts[0], mark{"good", "✓", "done"}
	list := []step{{"Scheduled", &t.Tick, "its nominal time; trigger: " + wordOf(t.Trigger), done}}
	if !t.Ran() {
		return append(list, step{"No run", nil, view.Text(t.Reason), markOf(t.Outcome)})
	}
	for i := len(attempts) - 1; i > 0; i-- {
		before := attempts[i]
		name := "Interrupted" // without a word of its replica
		if before.Finished != nil {
			name = "Handed over"
		}
		list = append(list, step{name, before.Started, view.Join("; ", "replica "+view.Text(before.Replica)+" had it: "+markOf(before.Outcome).Word, view.Text(before.Reason)), markOf(before.Outcome)})
	}
	list = append(list, step{"Claimed", nil, claimText(t), done})
	if t.Started != nil {
		behind := view.Time(t.Started).Sub(view.Time(&t.Tick))
		list = append(list, step{"Started", t.Started, view.Span(max(0, behind)) + " after the tick", done})
	}
	if t.Beats != nil {
		list = append(list, extendedStep(t.Beats))
	}
	return append(list, lastStep(t, took))
}

// claimText describes the claim.
func claimText(t view.Tick) string {
	text := "replica " + view.Text(t.Replica)
	if t.Votes != nil {
		text += " won " + *t.Votes + " votes"
	}
	if t.Poll != nil {
		late := 0
		for _, n := range t.Poll.Nodes {
			if n.Answer == locking.NotAwaited.String() {
				late++
			}
		}
		if late > 0 {
			text += fmt.Sprintf(" (%d not awaited)", late)
		}
		if t.Poll.Rounds != nil {
			text += " in " + view.Count(*t.Poll.Rounds, "round", "rounds")
		}
	}
	if t.Token != nil {
		text += fmt.Sprintf(", token %d", *t.Token)
	}
	return text
}

func extendedStep(b *view.Beats) step {
	last := b.Last[len(b.Last)-1]
	about, m := view.Count(b.Count, "time", "times")+", last at this time", mark{"good", "✓", "done"}
	if b.Failed > 0 {
		about, m = about+"; "+view.Count(b.Failed, "attempt", "attempts")+" failed", mark{"warn", "!", "some failed"}
	}
	return step{"Extended", &last.At, about, m}
}

func lastStep(t view.Tick, took string) step {
	name, verb := "Finished", "took "
	switch t.Outcome {
	case ledger.Running:
		name, verb = "Running", "for "
	case ledger.Interrupted:
		name = "Lost contact"
	}
	if took != "" {
		took = verb + took
	}
	return step{name, t.Finished, view.Join("; ", took, view.Text(t.Reason)), markOf(t.Outcome)}
}

// A nodeVote is one node's answer to the claim.
type nodeVote struct {
	Node string
	mark
	About string
}

// votesOf returns the answers to the claim, or why they are unknown.
func votesOf(t view.Tick) (votes []nodeVote, said, unknown string) {
	if t.Poll == nil {
		if t.Outcome == ledger.Running {
			return nil, "", "Replica " + view.Text(t.Replica) + " runs it and has the answers; the ledger will have them when the run logs something or ends."
		}
		return nil, "", "The nodes' answers were not recorded."
	}
	for i, n := range t.Poll.Nodes {
		other := nodeVote{mark: mark{"calm", "?", n.Answer}, About: "unknown to this release"}
		vote := cmp.Or(answerVotes[n.Answer], other)
		vote.Node = cmp.Or(view.Text(n.Node), fmt.Sprintf("node %d of a list that has changed since", i+1))
		votes = append(votes, vote)
	}
	return votes, view.Text(t.Poll.Errors), ""
}

// answerVotes show and explain the answers of nodes.
var answerVotes = map[string]nodeVote{
	"granted":     {mark: mark{"good", "✓", "granted"}},
	"not awaited": {mark: mark{"calm", "·", "not awaited"}, About: "enough other nodes answered first"},
	"held":        {mark: mark{"warn", "◇", "held"}, About: "another holder had the lock or the tick"},
	"abstained":   {mark: mark{"warn", "△", "abstained"}, About: "it may have lost its memory, and does not vote yet"},
	"unreachable": {mark: mark{"bad", "✕", "unreachable"}, About: "it did not answer, or was known to be down"},
	"refused":     {mark: mark{"bad", "!", "refused"}},
}

// A beatChart draws the extensions of a lease over time. The height of a bar is the validity
// that was left.
type beatChart struct {
	Text  string // in words
	Ticks []beatBar
	Width string // percent, of a bar
	*view.Beats
}

type beatBar struct {
	X, Y, Height string // percent
	mark
	Title string
	view.Beat
}

// widestBar is the width of the bar of a beat, in percent.
const widestBar = 2.0

func newBeatChart(show times, t view.Tick) *beatChart {
	if t.Beats == nil {
		return nil
	}
	from, to := view.Time(t.Started), show.Now
	if t.Finished != nil {
		to = view.Time(t.Finished)
	}
	last := t.Beats.Last[len(t.Beats.Last)-1]
	if at := view.Time(&last.At); !to.After(at) {
		to = at.Add(time.Second)
	}
	if t.Beats.Count > len(t.Beats.Last) { // earlier ones were dropped
		from = view.Time(&t.Beats.Last[0].At)
	}
	s := &beatChart{Text: beatsText(show, t.Beats), Beats: t.Beats, Width: percent(widestBar)}
	most := int64(1)
	for _, b := range t.Beats.Last {
		most = max(most, b.Left)
	}
	for _, b := range t.Beats.Last {
		high := max(4, 100*float64(b.Left)/float64(most))
		bar := beatBar{
			X: percent((100 - widestBar) * float64(view.Time(&b.At).Sub(from)) / float64(to.Sub(from))), Y: percent(100 - high), Height: percent(high),
			mark: beatMark(b), Beat: b,
		}
		bar.Title = show.clock(view.Time(&b.At)) + ", " + bar.Word + ", " + nodesText(b) + span(b.Left) + " left"
		s.Ticks = append(s.Ticks, bar)
	}
	return s
}

func percent(x float64) string { return fmt.Sprintf("%.2f%%", x) }

func beatMark(b view.Beat) mark {
	switch {
	case b.Failed:
		return mark{"bad", "✕", "failed"}
	case b.Refused:
		return mark{"warn", "!", "extended"}
	}
	return mark{"good", "✓", "extended"}
}

// nodesText counts the nodes that granted an extension, if known.
func nodesText(b view.Beat) string {
	if b.Granted == nil {
		return ""
	}
	return fmt.Sprintf("%d of %s, ", *b.Granted, view.Count(*b.Nodes, "node", "nodes"))
}

// beatsText describes the extensions.
func beatsText(show times, b *view.Beats) string {
	text := "The lease was extended " + view.Count(b.Count-b.Failed, "time", "times")
	if b.Failed == 0 {
		text += ", and no attempt failed"
	} else {
		text += ", and " + view.Count(b.Failed, "attempt", "attempts") + " failed"
	}
	text += "; the least validity left was " + span(b.Least.Left)
	if at := show.At(b.Least.At); at != nil {
		text += ", at " + at.Text
	}
	text += "."
	if b.Count > len(b.Last) {
		text += fmt.Sprintf(" The last %d are shown.", len(b.Last))
	}
	return text
}
