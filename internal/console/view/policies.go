package view

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Policies are those of a version of a job, as its set of jobs has them. What is empty is not known, or not set.
type Policies struct {
	Timeout, Overlap string
	CatchUp          struct {
		Mode, Window string
		Max          json.Number
	} `json:"catch_up"`
	OnCrash string `json:"on_crash"`
	Retry   struct {
		Attempts   json.Number
		Backoff    string
		MaxBackoff string `json:"max_backoff"`
	}
	LateAfter string `json:"late_after"`
	Labels    map[string]string
	Group     string
	Priority  json.Number
	OnSuccess []string `json:"on_success"`
	OnFailure []string `json:"on_failure"`
	History   struct {
		Keep   json.Number
		MaxAge string `json:"max_age"`
	}
}

// Policies returns those of a version of a job. They are empty if its set of jobs is not published yet, too large, or
// was not served for a day.
func (r Reader) Policies(ctx context.Context, j roster.JobInfo) (p Policies, err error) {
	set, err := r.storedSet(ctx, j.ConfigHash)
	if errors.Is(err, roster.ErrNoJobSet) {
		return p, nil
	}
	i := slices.IndexFunc(set.Jobs, func(t roster.JobText) bool { return t.Key == j.StoredAs() && t.Hash == j.Hash })
	if err != nil || i < 0 {
		return p, err
	}
	text, err := json.Marshal(set.Jobs[i].Settings)
	if err != nil {
		return p, err
	}
	if json.Unmarshal(text, &p) != nil { // of another release
		p = Policies{}
	}
	return p, nil
}

// A Fact is a policy in words.
type Fact struct{ Name, Text string }

// InWords says what the policies mean, without those that are empty.
func (p Policies) InWords() (list []Fact) {
	say := func(name, text string) {
		if text != "" {
			list = append(list, Fact{name, text})
		}
	}
	say("A tick during a run", map[string]string{
		"skip": "waits a moment, then is skipped", "queue": "waits for its end", "cancel_previous": "cancels the run", "allow": "runs beside it",
	}[p.Overlap])
	late := ", up to " + spanText(p.CatchUp.Window) + " late"
	say("Ticks that no replica could run", map[string]string{
		"none": "are missed", "last": "the last one runs later" + late, "all": "run later" + late + ", the newest " + p.CatchUp.Max.String(),
	}[p.CatchUp.Mode])
	say("A run whose replica dies", map[string]string{"skip": "is not repeated", "rerun": "is repeated elsewhere"}[p.OnCrash])
	say("Timeout", spanText(p.Timeout))
	switch p.Retry.Attempts {
	case "", "0":
	case "1":
		say("After an error", "is not called again")
	default:
		say("After an error", "is called again, "+p.Retry.Attempts.String()+" times in all; pauses from "+spanText(p.Retry.Backoff)+" to "+spanText(p.Retry.MaxBackoff))
	}
	if late := spanText(p.LateAfter); late != "" {
		say("Late", "if it starts "+late+" after its time")
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		labels = append(labels, key+"="+p.Labels[key])
	}
	say("Only on replicas with", strings.Join(labels, ", "))
	say("Shares the limit of", p.Group)
	say("Priority", strings.TrimPrefix(p.Priority.String(), "0"))
	say("A success triggers", And(p.OnSuccess))
	say("A failure triggers", And(p.OnFailure))
	if keep := p.History.Keep.String(); keep != "" {
		kept := keep + " ticks"
		if age := spanText(p.History.MaxAge); age != "" {
			kept += ", none older than " + age
		}
		say("Kept", kept)
	}
	return list
}

// spanText writes a duration of a configuration as Span does; "" for none.
func spanText(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return ""
	}
	return Span(d)
}

// Limit is the limit of a run; 0: it is not known.
func (p Policies) Limit() time.Duration {
	d, err := time.ParseDuration(p.Timeout)
	if err != nil {
		return 0
	}
	return max(0, d)
}
