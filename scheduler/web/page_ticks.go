package web

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// ticksPage lists ticks of all jobs, or of one.
type ticksPage struct {
	Job      string
	Ticks    []listing.Tick
	More     string
	Outcomes []string // that can be chosen
	Triggers []string
	Filtered bool
}

func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "since", "cursor")
	shown := ticksPage{Job: v.query.Get("job"), Outcomes: texts(outcomes()), Triggers: texts(triggers()), Filtered: len(query) > 0}
	query.Set("limit", "50")
	path, in := "/ticks", []string(nil)
	if shown.Job != "" {
		path, in = "/jobs/{job}/ticks", []string{"job", shown.Job}
	}
	p, err := rows[listing.Tick](ctx, v, path, query, in...)
	shown.Ticks, shown.More = p.Items, v.more(p.Next)
	return shown, err
}

func texts(values []any) []string {
	var list []string
	for _, value := range values {
		list = append(list, value.(string))
	}
	return list
}

// runPage shows one run, or what became of a tick that did not run.
type runPage struct {
	ID       string
	Last     listing.Tick
	Attempts []listing.Tick
	Calls    int // of the function, in the last attempt
	Steps    []step
	Log      *listing.Log
	NoLog    string // why there is none
}

// A step is one of those that every tick goes through.
type step struct {
	Name  string
	When  *string
	About string
	mark
}

func loadRun(ctx context.Context, v *visit) (any, error) {
	id := v.r.PathValue("run")
	attempts, err := rows[listing.Tick](ctx, v, "/runs/{run}", nil)
	if err != nil {
		return nil, err
	}
	shown := runPage{ID: id, Last: attempts.Items[0], Attempts: attempts.Items}
	v.Title = shown.Last.Job + " at " + v.At(shown.Last.Tick).Text
	if query := v.query.Get("tz"); query == "job" {
		if d, err := api[jobDetail](ctx, v, "/jobs/{job}", nil, "job", shown.Last.Job); err == nil && len(d.Versions) > 0 {
			v.ofJob(d.Versions[0].Timezone)
		}
	}
	shown.Steps = v.steps(shown.Last)
	if shown.Last.Tries != nil {
		shown.Calls = *shown.Last.Tries
	}
	if !shown.Last.Outcome.Ran() {
		return shown, nil
	}
	log, err := api[listing.Log](ctx, v, "/runs/{run}/log", url.Values(nil))
	if err != nil {
		shown.NoLog = v.explain(v.r, err).Detail
		return shown, nil
	}
	shown.Log = &log
	return shown, nil
}

// steps are those that a tick has gone through.
func (v *visit) steps(t listing.Tick) []step {
	done := mark{"good", "✓", "done"}
	list := []step{{"Tick", &t.Tick, "its nominal time; trigger: " + wordOf(t.Trigger), done}}
	if !t.Outcome.Ran() {
		return append(list, step{"No run", nil, listing.Text(t.Reason), markOf(t.Outcome)})
	}
	claim := "replica " + listing.Text(t.Replica)
	if t.Votes != nil {
		claim += " won " + *t.Votes + " votes"
	}
	if t.Token != nil {
		claim += fmt.Sprintf(", token %d", *t.Token)
	}
	list = append(list, step{"Claim", nil, claim, done})
	if t.Started != nil {
		behind := listing.Time(t.Started).Sub(listing.Time(&t.Tick))
		list = append(list, step{"Start", t.Started, span(max(0, behind)) + " after the tick", done})
	}
	end := []string{}
	for _, text := range []string{tookText(v.Took(t.Run)), listing.Text(t.Reason)} {
		if text != "" {
			end = append(end, text)
		}
	}
	name := "Finish"
	if t.Outcome == scheduler.Running {
		name = "Running"
	}
	return append(list, step{name, t.Finished, strings.Join(end, "; "), markOf(t.Outcome)})
}

func tookText(took string) string {
	if took == "" {
		return ""
	}
	return "took " + took
}
