package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/console/api"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// runPage shows one run, or a tick that did not run.
type runPage struct {
	ID           string
	Last         view.Tick
	Attempts     []view.Tick
	Calls        int // of the function, in the last attempt
	Steps        []step
	Votes        []nodeVote
	Errors       string
	NoVotes      string // why Votes are unknown
	Bars         []bar
	Beats        string // in words
	Log          *view.Log
	Lines        []view.LogLine // of the Log; nil: it is shown as it is
	NoLog        string         // why there is no Log
	Before       string         // addresses of the tick before, and of the next one
	After        string
	NoNeighbours string // why not all of these are known
	Again        string // of a form that runs it again, or for the first time
	Going        bool
	Follow       string // address of the live log
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
	shown.Again = v.To("/jobs", last.Job, "trigger") + v.Query("reason", "again: "+id)
	if at := view.Time(&last.Tick); !last.Ran() && view.Text(last.Trigger) == string(ledger.BySchedule) {
		shown.Again = v.To("/jobs", last.Job, "backfill") + v.Query("from", formTime(at)) + "&to=" + url.QueryEscape(formTime(at.Add(time.Second)))
	}
	if err := shown.findNeighbours(ctx, v); err != nil {
		shown.NoNeighbours = v.why(err)
	}
	if last.Calls != nil {
		shown.Calls = *last.Calls
	}
	if !last.Ran() {
		return shown, nil
	}
	shown.Votes, shown.Errors, shown.NoVotes = votesOf(last)
	if shown.Bars = waterfall(v.then(), attempts.Items); last.Beats != nil {
		shown.Beats = beatsText(v.times, last.Beats)
	}
	shown.loadLog(ctx, v)
	return shown, nil
}

// findNeighbours finds the ticks before and after. Listings begin with the newest, so the next one is the last of those
// in a window that is neither empty nor full. After a few windows it stays unknown.
func (shown *runPage) findNeighbours(ctx context.Context, v *visit) error {
	const most, windows = 30, 4
	of := func(limit int, bounds url.Values) ([]view.Tick, error) {
		bounds.Set("limit", strconv.Itoa(limit))
		p, err := rows[view.Tick](ctx, v, "/jobs/{job}/ticks", bounds, "job", shown.Last.Job)
		list := slices.DeleteFunc(slices.Clone(p.Items), func(t view.Tick) bool { return t.Page == shown.Last.Page })
		return list, err
	}
	before, err := of(2, url.Values{"until": {shown.Last.Tick}})
	if err != nil {
		return err
	}
	at, window := view.Time(&shown.Last.Tick), time.Hour
	if len(before) > 0 {
		shown.Before = v.To("/runs", before[0].Page)
		window = most / 2 * max(time.Second, at.Sub(view.Time(&before[0].Tick)))
	}
	bounds := url.Values{"since": {shown.Last.Tick}} // at first all later ones: mostly there are few
	for range windows {
		later, err := of(most, bounds)
		switch n := len(later); {
		case err != nil:
			return err
		case n > 0 && n < most-1:
			shown.After = v.To("/runs", later[n-1].Page)
			return nil
		case n == 0 && bounds.Has("until"):
			window *= 5
		case n == 0:
			return nil
		case bounds.Has("until"):
			window /= most
		}
		bounds.Set("until", view.Text(view.Stamp(at.Add(window))))
	}
	return nil
}

// loadLog reads the log, and sets Follow for a running run.
func (shown *runPage) loadLog(ctx context.Context, v *visit) {
	log, err := read[view.Log](ctx, v, "/runs/{run}/log", url.Values(nil))
	if err != nil {
		shown.NoLog = v.why(err)
	} else {
		if shown.Log = &log; !shown.Going && v.Value("log") != "raw" {
			shown.Lines = log.Lines()
		}
	}
	if shown.Going {
		shown.NoLog = ""
		shown.Follow = fmt.Sprintf("%s%s/runs/%s/events?after=%d", v.p.cfg.BasePath, api.Prefix, url.PathEscape(shown.ID), log.Cut+len(log.Text))
	}
}

// Offset is how long after the start of the run a line of its log was written; "" if it does not say.
func (shown runPage) Offset(l view.LogLine) string {
	started := view.Time(shown.Last.Started)
	if l.At.IsZero() || started.IsZero() {
		return ""
	}
	return fmt.Sprintf("%+.3f s", l.At.Sub(started).Seconds())
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
		name := "Ended"
		switch {
		case before.Outcome == ledger.Interrupted && before.Finished != nil:
			name = "Handed over"
		case before.Outcome == ledger.Interrupted: // without a word of its replica
			name = "Interrupted"
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
	about, m := view.Count(b.Count-b.Failed, "time", "times"), mark{"good", "✓", "done"}
	if b.Failed > 0 {
		about, m = about+"; "+view.Count(b.Failed, "attempt", "attempts")+" failed", mark{"warn", "!", "some failed"}
	}
	about += "; the last attempt was at this time"
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

// A bar is a part of a waterfall: a stretch of time on the way of a tick. Its places are percent of the whole.
type bar struct {
	Name, About string
	Class       string
	X, Width    string // Width "": its end is not known
	Beats       []beatBar
}

// A beatBar is an extension of the lease.
type beatBar struct {
	X string
	mark
	Title string
	view.Beat
}

// Widths in percent: of a beat, and the least of a bar.
const beatWidth, leastWidth = 0.4, 0.3

// endOf is the latest time that is known of attempts, the newest first: now, while it runs.
func endOf(attempts []view.Tick, now time.Time) (end time.Time) {
	if attempts[0].Outcome == ledger.Running {
		return now
	}
	for _, t := range attempts {
		for _, at := range []*string{t.Started, t.Finished} {
			if view.Time(at).After(end) {
				end = view.Time(at)
			}
		}
	}
	return end
}

// waterfall draws the wait, the attempts, oldest first, and the extensions of the last one's lease.
func waterfall(show times, attempts []view.Tick) (bars []bar) {
	first := attempts[len(attempts)-1]
	from, to := view.Time(&first.Tick), endOf(attempts, show.Now)
	if first.Started == nil || !to.After(from) {
		return nil
	}
	x := func(at time.Time) float64 { return min(100, max(0, 100*float64(at.Sub(from))/float64(to.Sub(from)))) }
	add := func(one bar, begin, end time.Time) {
		left := min(x(begin), 100-leastWidth)
		if one.X = percent(left); !end.IsZero() {
			one.Width = percent(max(leastWidth, x(end)-left))
		}
		bars = append(bars, one)
	}
	begin := view.Time(first.Started)
	add(bar{Name: "Wait", About: view.Span(max(0, begin.Sub(from))), Class: "calm"}, from, begin)
	for i, t := range slices.Backward(attempts) {
		one := bar{Name: "On " + view.Text(t.Replica), About: tookText(t.Run, show.Now), Class: markOf(t.Outcome).Class}
		if t.Attempt != nil && len(attempts) > 1 {
			one.Name = fmt.Sprintf("Attempt %d, on %s", *t.Attempt, view.Text(t.Replica))
		}
		end := view.Time(t.Finished)
		switch {
		case t.Outcome == ledger.Running:
			end = show.Now
		case end.IsZero():
			one.About = "its end is not known"
		}
		if i == 0 && t.Beats != nil {
			for _, b := range t.Beats.Last {
				m, at := beatMark(b), view.Time(&b.At)
				one.Beats = append(one.Beats, beatBar{
					percent(min(x(at), 100-beatWidth)), m, show.clock(at) + ", " + m.Word + ", " + nodesText(b) + span(b.Left) + " left", b,
				})
			}
		}
		if t.Started != nil {
			add(one, view.Time(t.Started), end)
		}
	}
	return bars
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
