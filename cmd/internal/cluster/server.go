package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A server is a Cluster behind the API of a replica.
type server struct {
	host  string
	base  string
	token string
	http  http.Client
}

// ErrUnreachable is the error if a server does not answer at all.
var ErrUnreachable = errors.New("cannot be reached")

// serverTimeout bounds one request.
const serverTimeout = 30 * time.Second

// NewServer returns the server at a URL. It reads the token from the file, else from
// $QUORATE_TOKEN.
func NewServer(address, tokenFile string) (Cluster, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, failure.Usagef("--server %s: write the address of a replica's http.listen, such as https://cron.example.com", address)
	}
	s := &server{host: u.Host, base: strings.TrimSuffix(address, "/") + "/api/v1", token: os.Getenv("QUORATE_TOKEN"), http: http.Client{Timeout: serverTimeout}}
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, failure.Usagef("--token-file: %w", err)
		}
		s.token = strings.TrimSpace(string(text))
	}
	return s, nil
}

// call makes one request.
func (s *server) call(ctx context.Context, method, path string, body, answer any) error {
	text, err := plainjson.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(text))
	if err != nil {
		return failure.Usagef("--server: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return fmt.Errorf("--server %w: %w; name another replica, or leave out --server to read the store", ErrUnreachable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("--server: %w", err)
	case resp.StatusCode != http.StatusOK:
		return refused(resp.StatusCode, reply)
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("--server: %s is not a Quorate API: %w", s.base, err)
	}
	return nil
}

// refused converts a problem of the server to the error, and so the exit code, that the
// store would give.
func refused(status int, reply []byte) error {
	var problem struct{ Detail, Code string }
	if err := json.Unmarshal(reply, &problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("--server: it answered %d %s: is it the address of a replica's http.listen?", status, http.StatusText(status))
	}
	problem.Detail = strings.Map(output.Visible, problem.Detail)
	switch problem.Code {
	case "invalid":
		return failure.Usage(errors.New(problem.Detail))
	case "not_found":
		return serverError{problem.Detail, view.ErrNotFound}
	case "no_quorum":
		return serverError{problem.Detail, locking.ErrNoQuorum}
	case "unauthorized":
		return errors.New(problem.Detail + ": set $QUORATE_TOKEN, or --token-file")
	}
	return errors.New(problem.Detail)
}

// serverError is a server's message with the error that it means.
type serverError struct {
	text string
	is   error
}

func (e serverError) Error() string { return e.text }
func (e serverError) Unwrap() error { return e.is }

// command requests a command.
func (s *server) command(ctx context.Context, path string, command commands.Command, body map[string]any, answer any) error {
	if command.Reason == "" {
		return failure.Usagef(`give a reason with --reason "…": the API requires one`)
	}
	body["reason"] = command.Reason
	return s.call(ctx, http.MethodPost, path, body, answer)
}

func (s *server) Trigger(ctx context.Context, command commands.Command) (Request, error) {
	body := map[string]any{"within": command.Within.String()}
	if len(command.Params) > 0 {
		body["params"] = command.Params
	}
	var done view.Command
	err := s.command(ctx, jobPath(command.Job)+"/trigger", command, body, &done)
	run := view.Text(done.Run)
	return Request{Run: run, ended: func(ctx context.Context) (*view.Run, error) { return s.ended(ctx, run) }}, err
}

// ended returns the result of a run, nil while it is unknown.
func (s *server) ended(ctx context.Context, run string) (*view.Run, error) {
	list, err := rows[view.Tick](ctx, s, "/runs/"+url.PathEscape(run), nil, 1)
	switch {
	case errors.Is(err, view.ErrNotFound), errors.Is(err, locking.ErrNoQuorum):
		return nil, nil
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("--server: it accepted run %s but does not know it", run)
	case list[0].Outcome == ledger.Running:
		return nil, nil
	}
	return asEnded(list[0].Run, "of "+list[0].Job)
}

func (s *server) PauseOrResume(ctx context.Context, command commands.Command, id string) (view.Command, string, error) {
	path, body := "/"+string(command.Kind), map[string]any{}
	switch {
	case id != "":
		body["id"] = id
	case command.Job != "":
		path = jobPath(command.Job) + path
	case command.Tag != "":
		body["tag"] = command.Tag
	default:
		body["all"] = true
	}
	var done struct {
		Command view.Command `json:"act"`
		Doubt   *string
	}
	err := s.command(ctx, path, command, body, &done)
	return done.Command, view.Text(done.Doubt), err
}

func (s *server) Cancel(ctx context.Context, command commands.Command, waiting bool) (done view.Cancelled, err error) {
	body := map[string]any{"waiting": waiting}
	if command.Run != "" {
		body["run"] = command.Run
	}
	err = s.command(ctx, jobPath(command.Job)+"/cancel", command, body, &done)
	return done, err
}

func (s *server) Backfill(ctx context.Context, command commands.Command, dry bool) ([]time.Time, error) {
	body := map[string]any{
		"from": command.From.Format(time.RFC3339), "to": command.To.Format(time.RFC3339), "within": command.Within.String(),
		"concurrency": command.Concurrency, "dry_run": dry,
	}
	if dry && command.Reason == "" {
		command.Reason = "dry run"
	}
	var done struct{ Ticks []string }
	err := s.command(ctx, jobPath(command.Job)+"/backfill", command, body, &done)
	return asRows(done.Ticks, func(at string) time.Time { return view.Time(&at) }), err
}

func (s *server) Release(ctx context.Context, command commands.Command, token uint64) (taken view.Lock, warning string, err error) {
	body := map[string]any{"confirm": command.Job}
	if token != 0 {
		body["token"] = token
	}
	err = s.command(ctx, "/locks/"+url.PathEscape(command.Job)+"/release", command, body, &taken)
	return taken, "", err
}

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

func (s *server) Pauses(ctx context.Context) ([]view.Command, error) {
	return rows[view.Command](ctx, s, "/pauses", nil, 0)
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

func (s *server) Audit(ctx context.Context, q view.AuditQuery) ([]view.Command, error) {
	list, err := rows[view.Command](ctx, s, "/audit", auditing(q), q.Limit)
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
