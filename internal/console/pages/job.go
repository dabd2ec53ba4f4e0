package pages

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A jobPage shows one job.
type jobPage struct {
	view.JobDetail
	Status     line
	Paused     string // why its ticks are skipped
	Noted      bool   // Status says so
	Running    bool
	Versions   []jobVersion
	Policies   []view.Fact
	NoPolicies string // why they are not known
	Dots       *dotChart
	Choices    []link // which of its ticks are listed
	// FailureDropped is when the last failure was due that the ledger no longer has; nil: none is known.
	FailureDropped *stamp
	Ticks          []jobTick
}

// A jobVersion is a version of the job that is served, or was last.
type jobVersion struct {
	view.Job
	plan
}

// A jobTick is a tick with a bar as long as its run took.
type jobTick struct {
	view.Tick
	Bar string // percent; "": it did not run, or its duration is not known
}

// skippedFor is followed by the reason of a pause.
const skippedFor = "Its ticks are skipped: "

// What the page shows: next ticks, and latest ones.
const nextOfJob, ticksOfJob = 3, 50

func loadJob(ctx context.Context, v *visit) (any, error) {
	detail, err := read[view.JobDetail](ctx, v, "/jobs/{job}", nil)
	if err != nil {
		return nil, err
	}
	v.Title = detail.Job
	ticks, err := rows[view.Tick](ctx, v, "/jobs/{job}/ticks", url.Values{"limit": {strconv.Itoa(ticksOfJob)}})
	if err != nil {
		return nil, err
	}
	shown := jobPage{JobDetail: detail}
	for _, j := range detail.Versions {
		v.useJobZone(j.Timezone)
		shown.Versions = append(shown.Versions, jobVersion{j, planOf(j.Info, v.Now)})
	}
	latest := slices.MaxFunc(detail.Versions, func(x, y view.Job) int { return x.Info.Published.Compare(y.Info.Published) })
	shown.Paused, shown.FailureDropped = view.Text(latest.Paused), v.At(latest.Standing.FailureDropped)
	policies, err := lastKnown(v, "policies of "+latest.Key, func() (view.Policies, error) { return v.p.cfg.Control.Policies(ctx, latest.Info) })
	if err != nil {
		shown.NoPolicies = v.why(err)
	}
	shown.Policies = policies.InWords()
	running := v.runningOf(ctx, ticks)
	shown.Running = running != nil
	period := periodOf(detail.Next)
	shown.Next = detail.Next[:min(len(detail.Next), nextOfJob)]
	shown.Status = v.jobStatus(latest, ticks.Items, running, period)
	v.Level = shown.Status.Level
	shown.Noted = strings.HasSuffix(shown.Status.Text, skippedFor+shown.Paused)
	shown.Dots = newDotChart(v.then(), ticks.Items, period, policies.Limit())
	shown.list(v, ticks.Items)
	return shown, nil
}

// runningOf is the run of the job that goes on, of which these are the latest ticks; nil: none is known. Its tick may be
// before those, if they were skipped since.
func (v *visit) runningOf(ctx context.Context, latest view.Page[view.Tick]) *view.Run {
	if r := runningIn(latest.Items); r != nil || latest.Next == nil {
		return r
	}
	runs, _ := rows[view.Run](ctx, v, "/jobs/{job}/runs", url.Values{"limit": {"5"}}) // else the page does without
	for _, r := range runs.Items {
		if r.Outcome == ledger.Running {
			return &r
		}
	}
	return nil
}

func runningIn(ticks []view.Tick) *view.Run {
	for _, t := range ticks {
		if t.Outcome == ledger.Running {
			return &t.Run
		}
	}
	return nil
}

// periodOf is the time between each two of the next ticks; 0: it differs.
func periodOf(next []view.Next) (period time.Duration) {
	for i := 1; i < len(next); i++ {
		between := view.Time(&next[i].Tick).Sub(view.Time(&next[i-1].Tick))
		if i > 1 && between != period {
			return 0
		}
		period = between
	}
	return period
}

// took has the durations of successes, newest first.
func took(ticks []view.Tick, now time.Time) (list []time.Duration) {
	for _, t := range ticks {
		if d, known := t.Took(now); known && t.Outcome == ledger.Succeeded {
			list = append(list, d)
		}
	}
	return list
}

// isTrouble reports whether a tick is over, and did not succeed.
func isTrouble(t view.Tick) bool { return slices.Contains(view.UnsuccessfulOutcomes(), t.Outcome) }

// jobStatus says in a sentence how a job is, of which these are the latest ticks, the newest first, and the run that
// goes on; nil: none.
func (v *visit) jobStatus(j view.Job, ticks []view.Tick, running *view.Run, period time.Duration) line {
	durations := took(ticks, v.Now)
	slower := trendOf(durations)
	ended, bad := 0, 0
	for _, t := range ticks {
		if t.Outcome == ledger.Running || t.Outcome == ledger.Skipped || t.Outcome == ledger.Unreadable {
			continue
		}
		if ended++; isTrouble(t) {
			bad++
		}
	}
	switch last := j.Standing.Last; {
	case !j.Live:
		return line{Sentence: view.Sentence{Level: view.Calm, Text: "No replica serves this job."}}
	case j.Standing.InARow > 0:
		l := line{view.Sentence{Level: view.Warn, Text: "The last tick: " + markOf(last.Outcome).Word + " · " + v.story(j.Standing), More: causeOfTick(last)}, v.To("/runs", last.Named(j.Job).ID())}
		if slices.Contains(view.FailedOutcomes(), last.Outcome) {
			l.Level = view.Bad
		}
		return l
	case j.Paused != nil && running == nil: // else the page says it below
		return line{Sentence: view.Sentence{Level: view.Calm, Text: skippedFor + *j.Paused}}
	case slower != nil && slower.factor > 1:
		text := "It succeeds, and takes longer: the " + slower.Word[len("slower: "):] + "."
		if period > 0 {
			text += " It ticks every " + view.Span(period) + "."
		}
		return line{Sentence: view.Sentence{Level: view.Warn, Text: text}}
	case running != nil:
		text := "It runs on " + view.Text(running.Replica)
		if d, known := running.Took(v.asOf()); known {
			text += " for " + view.Span(max(0, d))
		}
		if len(durations) >= leastRuns {
			text += ", usually " + view.Span(view.Quantile(durations, 0.5))
		}
		return line{view.Sentence{Level: view.Good, Text: text + "."}, v.To("/runs", view.Text(running.ID))}
	case len(ticks) == 0:
		return line{Sentence: view.Sentence{Level: view.Calm, Text: "It has not run yet."}}
	case ended == 0 || last.Tick.IsZero():
		return line{Sentence: view.Sentence{Level: view.Calm, Text: "Its latest " + view.Count(len(ticks), "tick was skipped, or cannot be read.", "ticks were skipped, or cannot be read.")}}
	}
	text := "It succeeds: so did all of its latest " + view.Count(ended, "tick", "ticks") + " that ended."
	if bad > 0 {
		text = fmt.Sprintf("It succeeds: the last tick that ended did; of the latest %d that ended, %d did not.", ended, bad)
	}
	return line{Sentence: view.Sentence{Level: view.Good, Text: text}}
}

// list lists the ticks that the query chooses.
func (shown *jobPage) list(v *visit, ticks []view.Tick) {
	var bad []view.Tick
	for _, t := range ticks {
		if isTrouble(t) {
			bad = append(bad, t)
		}
	}
	only := v.query.Get("show") == "trouble"
	shown.Choices = []link{{Text: fmt.Sprintf("latest %d", len(ticks)), Path: v.With("show", ""), Here: !only}, {Text: fmt.Sprintf("not succeeded %d", len(bad)), Path: v.With("show", "trouble"), Here: only}}
	if only {
		ticks = bad
	}
	most := time.Millisecond
	for _, t := range ticks {
		if d, known := t.Took(v.asOf()); known {
			most = max(most, d)
		}
	}
	for _, t := range ticks {
		one := jobTick{Tick: t}
		if d, known := t.Took(v.asOf()); known {
			one.Bar = percent(max(0.5, 100*float64(d)/float64(most)))
		}
		shown.Ticks = append(shown.Ticks, one)
	}
}
