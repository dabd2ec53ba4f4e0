package pages

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An incident is a time in which ticks were missed for one cause.
type incident struct {
	ID    string // on the page
	Text  string
	Cause string
	Path  string // the ticks
	Runs  []link // forms that run the ticks of a job from the first to the last that it missed

	from, to time.Time
	of       map[string][]view.Event // by key of the job, oldest first
}

const (
	// incidentGap is how long after a miss another one belongs to the same incident.
	incidentGap = 10 * time.Minute
	// mostIncidents bounds those that are shown.
	mostIncidents = 5
)

// incidents are those of the range, the latest first, and how many more there are.
func (data *clusterData) incidents() (list []incident, more int) {
	type miss struct {
		key string
		view.Event
	}
	var misses []miss
	for _, key := range data.directory.Keys {
		for _, e := range data.trouble[key].EventsSince(data.from) {
			if e.Outcome == ledger.Missed {
				misses = append(misses, miss{key, e})
			}
		}
	}
	slices.SortStableFunc(misses, func(x, y miss) int { return x.At.Compare(y.At) })
	open, all := map[string]*incident{}, []*incident{}
	for _, m := range misses {
		cause := causeOf(m.Event)
		i := open[cause]
		if i == nil || m.At.Sub(i.to) > incidentGap {
			i = &incident{ID: "incident-" + m.At.UTC().Format("20060102T150405.000") + "-" + m.key, Cause: cause, from: m.At, of: map[string][]view.Event{}}
			open[cause], all = i, append(all, i)
		}
		i.to = m.At
		i.of[m.key] = append(i.of[m.key], m.Event)
	}
	slices.SortStableFunc(all, func(x, y *incident) int { return y.to.Compare(x.to) })
	for _, i := range all[:min(len(all), mostIncidents)] {
		i.describe(data)
		list = append(list, *i)
	}
	return list, len(all) - len(list)
}

// describe says in words what happened.
func (i *incident) describe(data *clusterData) {
	ticks := 0
	for _, key := range data.directory.Keys {
		missed := i.of[key]
		ticks += len(missed)
		// Who asked for a tick asks again: only the schedule's are backfilled.
		missed = slices.DeleteFunc(slices.Clone(missed), func(e view.Event) bool { return e.Stream != "" })
		if len(missed) == 0 || !data.directory.Last[key].Live {
			continue
		}
		first, last := missed[0].At, missed[len(missed)-1].At
		i.Runs = append(i.Runs, link{
			Text: fmt.Sprintf("%s: %s, %d of them missed", data.nameOf(key), data.stretch(first, last), len(missed)),
			Path: data.To("/jobs", data.nameOf(key), "backfill") + data.Query("from", formTime(first)) + "&to=" + url.QueryEscape(formTime(last.Add(time.Second))),
		})
	}
	i.Text = data.stretch(i.from, i.to) + ": " + view.Count(ticks, "tick", "ticks") + " of "
	if len(i.of) == 1 {
		for key := range i.of {
			i.Text += data.nameOf(key)
		}
	} else {
		i.Text += view.Count(len(i.of), "job", "jobs")
	}
	i.Text += " missed."
	i.Path = data.To("/ticks") + data.Query("since", i.from.UTC().Format(time.RFC3339)) +
		"&until=" + url.QueryEscape(i.to.Add(time.Second).UTC().Format(time.RFC3339)) + "&outcome=" + string(ledger.Missed)
}

// stretch is the time from one tick to another.
func (data *clusterData) stretch(from, to time.Time) string {
	if from.Equal(to) {
		return data.clock(from)
	}
	return data.clock(from) + " – " + data.clock(to)
}

// formTime is a time as the form of a backfill has it.
func formTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05") }

// causes are the titles of incidents; others are called by their code.
var causes = map[ledger.Code]string{
	ledger.CodeNoQuorum: "The store did not answer", ledger.CodeNoReplica: "No replica served the job", ledger.CodeDrained: "A replica drained",
	ledger.CodeAsleep: "Replicas were asleep, stopped or too busy", ledger.CodeUnvouched: "The store may have forgotten claims", ledger.CodeRefused: "The store refused the claims",
	ledger.CodeSplit: "Replicas blocked one another", ledger.CodeStarting: "Replicas did not know yet what is paused", ledger.CodeUnknown: "The cause is not known",
}

func causeOf(e view.Event) string {
	return cmp.Or(causes[e.Code], "Missed: "+cmp.Or(e.Text, strings.ReplaceAll(string(cmp.Or(e.Code, ledger.CodeUnknown)), "_", " ")))
}

// againLine names the jobs whose attempts were interrupted in the last 24 hours.
func (data *clusterData) againLine() line {
	return data.troubleLine("Interrupted and run again", func(e view.Event) int { return e.Interruptions }, func(e view.Event) string {
		return ": an attempt on " + e.InterruptedOn + " was interrupted; the one on " + e.Replica + ": " + markOf(e.Outcome).Word
	})
}

// staleLine names the jobs of which a guard refused writes in the last 24 hours.
func (data *clusterData) staleLine() line {
	return data.troubleLine("A guard refused stale writes", func(e view.Event) int { return e.StaleWrites }, func(view.Event) string { return "" })
}

// troubleLine names the jobs with a trouble in the last 24 hours, the latest first.
func (data *clusterData) troubleLine(what string, count func(view.Event) int, about func(view.Event) string) line {
	type of struct {
		text string
		last view.Event
		id   string
	}
	var list []of
	for key, p := range data.trouble {
		n, last := 0, view.Event{}
		for _, e := range p.Events {
			if c := count(e); c > 0 && e.At.After(data.Now.Add(-24*time.Hour)) {
				if n += c; last.At.IsZero() {
					last = e
				}
			}
		}
		switch name := data.nameOf(key); {
		case n > 1:
			list = append(list, of{fmt.Sprintf("%s (%d times)", name, n), last, last.ID(name)})
		case n == 1:
			list = append(list, of{name, last, last.ID(name)})
		}
	}
	if len(list) == 0 {
		return line{}
	}
	slices.SortFunc(list, func(x, y of) int { return cmp.Or(y.last.At.Compare(x.last.At), cmp.Compare(x.text, y.text)) })
	var names []string
	for _, one := range list {
		names = append(names, one.text)
	}
	return line{view.Sentence{
		Level: view.Warn, Text: what + " in the last 24 h: " + view.And(names) + ".", More: "Last " + ago(list[0].last.At.Sub(data.Now)) + about(list[0].last) + ".",
	}, data.To("/runs", list[0].id)}
}
