package cluster

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

func (s *server) About() About {
	return About{s.host, remedy}
}

func (s *server) Jobs(ctx context.Context) (list []view.Job, warning string, err error) {
	list, err = rows[view.Job](ctx, s, "/jobs", nil, 0)
	return list, "", err
}

func (s *server) Replicas(ctx context.Context) ([]view.Replica, error) {
	return rows[view.Replica](ctx, s, "/replicas", nil, 0)
}

func (s *server) Locks(ctx context.Context) ([]view.Lock, error) {
	return rows[view.Lock](ctx, s, "/locks", nil, 0)
}

func (s *server) Pauses(ctx context.Context) ([]view.Act, error) {
	return rows[view.Act](ctx, s, "/pauses", nil, 0)
}

func (s *server) Nodes(ctx context.Context) ([]view.Node, error) {
	return rows[view.Node](ctx, s, "/nodes", nil, 0)
}

func (s *server) Check(ctx context.Context) (Checkup, error) {
	all, err := rows[view.Check](ctx, s, "/nodes/check", nil, 0)
	return judgeRows(all), err
}

func (s *server) Ticks(ctx context.Context, job string, q ledger.Query) ([]view.Tick, error) {
	path := "/ticks"
	if job != "" {
		path = jobPath(job) + path
	}
	return rows[view.Tick](ctx, s, path, selecting(q), q.Limit)
}

func (s *server) Runs(ctx context.Context, job string, q ledger.Query, _ bool) ([]view.Run, error) {
	path := "/runs"
	if job != "" {
		path = jobPath(job) + path
	}
	return rows[view.Run](ctx, s, path, selecting(q), q.Limit)
}

func (s *server) Latest(ctx context.Context, since time.Time, limit int) (list []view.Tick, more bool, err error) {
	p, err := one[view.Tick](ctx, s, "/ticks", selecting(ledger.Query{Limit: limit, Since: since}))
	if err != nil {
		return nil, false, err
	}
	return p.Items, p.Next != nil, nil
}

func (s *server) Next(ctx context.Context, limit int) ([]view.Next, error) {
	return rows[view.Next](ctx, s, "/next", limited(limit), limit)
}

func (s *server) Log(ctx context.Context, _, run string, attempt int) (row view.Log, err error) {
	if !strings.Contains(run, "@") {
		return row, failure.Usagef("with --server give the run's ID, as in quorate runs -o json")
	}
	query := url.Values{"attempt": {strconv.Itoa(attempt)}}
	err = s.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(run)+"/log?"+query.Encode(), nil, &row)
	return row, err
}

func (s *server) Audit(ctx context.Context, q view.AuditQuery) ([]view.Act, error) {
	list, err := rows[view.Act](ctx, s, "/audit", auditing(q), q.Limit)
	return list[:min(len(list), q.Limit)], err
}

// jobPath is the path of a job.
func jobPath(job string) string { return "/jobs/" + url.PathEscape(job) }

// pageSize is the number of rows per request.
const pageSize = 1000

// A page is one page of a listing.
type page[R any] struct {
	Items []R
	Next  *string
}

// one reads one page.
func one[R any](ctx context.Context, s *server, path string, query url.Values) (p page[R], err error) {
	err = s.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &p)
	return p, err
}

// rows reads pages until there are so many rows; 0: all.
func rows[R any](ctx context.Context, s *server, path string, query url.Values, most int) ([]R, error) {
	if query == nil {
		query = url.Values{}
	}
	var all []R
	for {
		p, err := one[R](ctx, s, path, query)
		if err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		if p.Next == nil || most > 0 && len(all) >= most {
			return all, nil
		}
		query.Set("cursor", *p.Next)
	}
}

// limited returns the parameter for so many rows.
func limited(most int) url.Values {
	return url.Values{"limit": {strconv.Itoa(min(most, pageSize))}}
}

// selecting converts a query to parameters.
func selecting(q ledger.Query) url.Values {
	query := limited(q.Limit)
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Before} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	for _, o := range q.Outcomes {
		query.Add("outcome", string(o))
	}
	for _, t := range q.Triggers {
		query.Add("trigger", string(t))
	}
	for _, c := range q.Reasons {
		query.Add("reason", string(c))
	}
	return query
}

// auditing converts a query to parameters.
func auditing(q view.AuditQuery) url.Values {
	query := limited(q.Limit)
	for name, text := range map[string]string{"by": q.By, "job": q.Job} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	for _, kind := range q.Kinds {
		query.Add("act", string(kind))
	}
	if q.Refused != nil {
		query.Set("refused", map[bool]string{true: "yes", false: "no"}[*q.Refused])
	}
	return query
}
