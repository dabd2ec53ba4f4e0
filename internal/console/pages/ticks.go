package pages

import (
	"context"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
)

// A ticksPage lists ticks and their runs.
type ticksPage struct {
	view.Page[view.Tick]
	Outcomes, Times []link // choices
}

// loadTicks lists the ticks of all jobs, or of one.
func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "reason", "since", "until", "cursor")
	var names []string
	for _, o := range view.UnsuccessfulOutcomes() {
		names = append(names, string(o))
	}
	unsuccessful := strings.Join(names, ",")
	shown := ticksPage{Outcomes: []link{
		{Text: "all", Path: v.With("outcome", "", "cursor", ""), Here: v.Value("outcome") == ""},
		{Text: "not succeeded", Path: v.With("outcome", unsuccessful, "cursor", ""), Here: v.Value("outcome") == unsuccessful},
	}}
	when, known := v.Value("when"), false
	for _, s := range v.stretches() {
		known = known || s.name == when
		if s.Here = s.name == when && !v.HasAny("since", "until"); s.Here && when != "" {
			query.Set("since", s.from.UTC().Format(time.RFC3339))
			query.Set("until", s.to.UTC().Format(time.RFC3339))
		}
		s.Path = v.With("when", s.name, "since", "", "until", "", "cursor", "")
		shown.Times = append(shown.Times, s.link)
	}
	if !known {
		return nil, &view.InvalidError{Msg: "when: write today, night, 24h or 7d"}
	}
	query.Set("limit", "50")
	path, in := "/ticks", []string(nil)
	if job := v.Value("job"); job != "" {
		path, in = "/jobs/{job}/ticks", []string{"job", job}
	}
	var err error
	shown.Page, err = rows[view.Tick](ctx, v, path, query, in...)
	return shown, err
}

// A stretch is a choice of a time.
type stretch struct {
	link
	name     string // in the query
	from, to time.Time
}

// stretches are those that people ask for, in the zone of the page.
func (t times) stretches() []stretch {
	now := t.Now.In(t.zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, t.zone)
	evening := time.Date(now.Year(), now.Month(), now.Day()-1, 18, 0, 0, 0, t.zone)
	morning := time.Date(now.Year(), now.Month(), now.Day(), 8, 0, 0, 0, t.zone)
	later := now.Add(time.Hour) // the clocks of replicas may be ahead
	return []stretch{
		{link: link{Text: "any time"}},
		{link{Text: "today"}, "today", midnight, later},
		{link{Text: "last night, 18 to 8 h"}, "night", evening, morning},
		{link{Text: "24 h"}, "24h", now.Add(-24 * time.Hour), later},
		{link{Text: "7 d"}, "7d", now.Add(-7 * 24 * time.Hour), later},
	}
}
