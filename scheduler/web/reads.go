package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A page is a part of a listing.
type page[R any] struct {
	Items []R `json:"items"`
	// Next goes into cursor for the rows after these; null: there are none.
	Next *string `json:"next" jsonschema:"cursor of the next page; null if there is none"`
	// Partial is why rows are missing, null if none are.
	Partial *string `json:"partial" jsonschema:"why rows are missing, for want of a quorum in some cells; null if none are"`
}

// pageOf returns rows that came with an error, which may be about a part.
func pageOf[R any](rows []R, err error) (page[R], error) {
	if listing.Whole(err) != nil {
		return page[R]{}, err
	}
	p := page[R]{Items: rows}
	if p.Items == nil {
		p.Items = []R{}
	}
	if err != nil {
		p.Partial = listing.Optional(err.Error())
	}
	return p, nil
}

// entriesPage returns entries as rows.
func entriesPage[R any](p listing.Page, err error, row func(scheduler.Entry) R) (any, error) {
	rows := make([]R, len(p.Entries))
	for i, e := range p.Entries {
		rows[i] = row(e)
	}
	shown, err := pageOf(rows, err)
	shown.Next = listing.Optional(p.Next.String())
	return shown, err
}

// recent is what the parameters of selecting ask for.
func (c *call) recent(ticks bool) (listing.RecentQuery, error) {
	after, err := listing.ParseCursor(c.text("cursor"))
	if after.IsZero() {
		after = listing.Until(c.time("until"))
	}
	return listing.RecentQuery{
		Limit: c.number("limit"), Ticks: ticks, After: after, Since: c.time("since"),
		Outcomes: words[scheduler.Outcome](c, "outcome"), Triggers: words[scheduler.Trigger](c, "trigger"),
		Reasons: words[scheduler.Code](c, "reason"),
	}, err
}

func answerTicks(ctx context.Context, c *call) (any, error) {
	q, err := c.recent(true)
	if err != nil {
		return nil, err
	}
	p, err := c.cfg.Control.Recent(ctx, q)
	return entriesPage(p, err, listing.NewTick)
}

func answerRuns(ctx context.Context, c *call) (any, error) {
	q, err := c.recent(false)
	if err != nil {
		return nil, err
	}
	p, err := c.cfg.Control.Recent(ctx, q)
	return entriesPage(p, err, listing.NewRun)
}

func answerTicksOf(ctx context.Context, c *call) (any, error) {
	q, err := c.recent(true)
	if err != nil {
		return nil, err
	}
	p, err := c.cfg.Control.Page(ctx, c.r.PathValue("job"), q)
	return entriesPage(p, err, listing.NewTick)
}

func answerRunsOf(ctx context.Context, c *call) (any, error) {
	q, err := c.recent(false)
	if err != nil {
		return nil, err
	}
	p, err := c.cfg.Control.Page(ctx, c.r.PathValue("job"), q)
	return entriesPage(p, err, listing.NewRun)
}

func answerNext(ctx context.Context, c *call) (any, error) {
	from := c.time("from")
	if from.IsZero() {
		from = time.Now()
	}
	return pageOf(c.cfg.Control.Next(ctx, c.text("job"), from, c.number("limit")))
}

func answerReplicas(ctx context.Context, c *call) (any, error) {
	return pageOf(c.cfg.Control.Replicas(ctx))
}

func answerPauses(ctx context.Context, c *call) (any, error) {
	return pageOf(c.cfg.Control.Pauses(ctx))
}

func answerNodes(ctx context.Context, c *call) (any, error) {
	return pageOf(c.cfg.Nodes.Nodes(ctx), nil)
}

func answerChecks(ctx context.Context, c *call) (any, error) {
	return pageOf(c.cfg.Nodes.Checks(ctx), nil)
}

// answerLocks shows the locks of the cells that answer.
func answerLocks(ctx context.Context, c *call) (any, error) { return pageOf(c.cfg.Nodes.Locks(ctx)) }

func answerAudit(ctx context.Context, c *call) (any, error) {
	q := listing.AuditQuery{
		Limit: c.number("limit"), After: c.text("cursor"), Since: c.time("since"), By: c.text("by"), Job: c.text("job"),
		Kinds: words[scheduler.ActKind](c, "act"),
	}
	if text := c.text("refused"); text != "" {
		q.Refused = new(text == "yes")
	}
	list, next, err := c.cfg.Control.AuditPage(ctx, q)
	p, err := pageOf(list, err)
	p.Next = listing.Optional(next)
	return p, err
}

// An identityRow is who asks.
type identityRow struct {
	Name    *string `json:"name"`
	Role    *Role   `json:"role"`
	Address string  `json:"address"`
	Replica string  `json:"replica" jsonschema:"that answers"`
	Version string  `json:"version"`
}

func answerWhoami(_ context.Context, c *call) (any, error) {
	return identityRow{
		Name: listing.Optional(c.id.Name), Role: listing.Optional(c.id.Role), Address: c.id.Address,
		Replica: c.cfg.Replica, Version: c.cfg.Version,
	}, nil
}

// A jobDetail is one job.
type jobDetail struct {
	Job      string         `json:"job" jsonschema:"the name it has now"`
	Versions []listing.Job  `json:"versions" jsonschema:"those that replicas serve, or the last one that was served"`
	Next     []listing.Next `json:"next"`
	Open     []listing.Act  `json:"open" jsonschema:"what was asked of it and is not done, pauses included"`
}

// nextOfJob is how many ticks to come a job shows.
const nextOfJob = 10

func answerJob(ctx context.Context, c *call) (any, error) {
	name := c.r.PathValue("job")
	d, err := c.cfg.Control.Directory(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.cfg.Control.JobsIn(ctx, d, name)
	if listing.Whole(err) != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, d.Require(d.Key(name))
	}
	next, err := c.cfg.Control.NextIn(d, name, time.Now(), nextOfJob)
	if listing.Whole(err) != nil {
		return nil, err
	}
	open, err := c.cfg.Control.Acts.Open(ctx)
	if listing.Whole(err) != nil {
		return nil, err
	}
	d.MarkNext(next, open.Pauses)
	last := slices.MaxFunc(rows, func(x, y listing.Job) int { return x.Info.Published.Compare(y.Info.Published) })
	answer := jobDetail{Job: last.Job, Versions: rows, Next: next, Open: []listing.Act{}}
	for i, row := range rows {
		rows[i].Paused = listing.Optional(row.Info.PausedBy(open.Pauses))
	}
	for _, act := range slices.Concat(open.Pauses, open.Requests) {
		if act.All || act.Job == last.Key || slices.Contains(last.Info.Tags, act.Tag) {
			answer.Open = append(answer.Open, listing.NewAct(act))
		}
	}
	return answer, nil
}

// answerJobs reads the ledger of those jobs only that are on the page. Cursors are
// names.
func answerJobs(ctx context.Context, c *call) (any, error) {
	d, err := c.cfg.Control.Directory(ctx)
	if err != nil {
		return nil, err
	}
	limit, after := c.number("limit"), c.text("cursor")
	var names []string
	more := false
	for _, v := range d.Versions {
		if v.Name <= after || slices.Contains(names, v.Name) || !matches(v.JobInfo, c.text("q")) {
			continue
		}
		if more = len(names) == limit; more {
			break
		}
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		return pageOf([]listing.Job{}, d.Gap)
	}
	rows, err := c.cfg.Control.JobsIn(ctx, d, names...)
	if listing.Whole(err) != nil {
		return nil, err
	}
	if err := c.cfg.Control.MarkPaused(ctx, rows); listing.Whole(err) != nil {
		return nil, err
	}
	p, err := pageOf(rows, err)
	if more {
		p.Next = &names[len(names)-1]
	}
	return p, err
}

// matches tells whether a job has the text in its name, tags or description.
func matches(j scheduler.JobInfo, text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(append([]string{j.Name, j.Description}, j.Tags...), func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}
