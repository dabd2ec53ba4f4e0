package web

import (
	"context"

	"github.com/quorate/quorate/scheduler/listing"
)

// ticksPage lists ticks of all jobs, or of one.
type ticksPage struct {
	Job      string
	Ticks    []listing.Tick
	More     string
	Outcomes []string // that can be chosen
	Triggers []string
	Codes    []string
	Filtered bool
}

func loadTicks(ctx context.Context, v *visit) (any, error) {
	query := v.only("outcome", "trigger", "reason", "since", "cursor")
	shown := ticksPage{Job: v.query.Get("job"), Outcomes: texts(outcomes()), Triggers: texts(triggers()), Codes: texts(codes()), Filtered: len(query) > 0}
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
