package pages

import (
	"context"

	"github.com/quorate/quorate/internal/console/view"
)

// ticksPage lists ticks of all jobs, or of one.
type ticksPage struct {
	Job      string
	Ticks    []view.Tick
	More     string
	Outcomes []string // options
	Triggers []string
	Codes    []string
	Filtered bool
}

func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "reason", "since", "cursor")
	choices := func(name string) []string { return v.api.Choices("/ticks", name) }
	shown := ticksPage{Job: v.query.Get("job"), Outcomes: choices("outcome"), Triggers: choices("trigger"), Codes: choices("reason"), Filtered: len(query) > 0}
	query.Set("limit", "50")
	path, in := "/ticks", []string(nil)
	if shown.Job != "" {
		path, in = "/jobs/{job}/ticks", []string{"job", shown.Job}
	}
	p, err := rows[view.Tick](ctx, v, path, query, in...)
	shown.Ticks, shown.More = p.Items, v.more(p.Next)
	return shown, err
}
