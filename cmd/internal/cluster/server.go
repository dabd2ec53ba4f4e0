package cluster

import (
	"bytes"
	"cmp"
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
)

// A server is the service of a cluster behind the API of a replica.
type server struct {
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
		return Cluster{}, failure.Usagef("--server %s: write the address of a replica's http.listen, such as https://cron.example.com", address)
	}
	s := &server{base: strings.TrimSuffix(address, "/") + "/api/v1", token: os.Getenv("QUORATE_TOKEN"), http: http.Client{Timeout: serverTimeout}}
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return Cluster{}, failure.Usagef("--token-file: %w", err)
		}
		s.token = strings.TrimSpace(string(text))
	}
	return Cluster{s, u.Host}, nil
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
		return &view.InvalidError{Msg: problem.Detail}
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

// command posts a command.
func (s *server) command(ctx context.Context, path string, command commands.Command, body map[string]any, answer any) error {
	if command.Reason == "" {
		return failure.Usagef(`give a reason with --reason "…": the API requires one`)
	}
	body["reason"] = command.Reason
	return s.call(ctx, http.MethodPost, path, body, answer)
}

func (s *server) Trigger(ctx context.Context, command commands.Command) (done view.Command, err error) {
	body := map[string]any{"within": command.Within.String()}
	if len(command.Params) > 0 {
		body["params"] = command.Params
	}
	err = s.command(ctx, jobPath(command.Job)+"/trigger", command, body, &done)
	return done, err
}

func (s *server) PauseOrResume(ctx context.Context, command commands.Command, id string) (done view.PauseResult, err error) {
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
	err = s.command(ctx, path, command, body, &done)
	return done, err
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
	ticks := make([]time.Time, len(done.Ticks))
	for i, at := range done.Ticks {
		ticks[i] = view.Time(&at)
	}
	return ticks, err
}

func (s *server) Release(ctx context.Context, command commands.Command, token locking.Token) (taken view.Lock, err error) {
	body := map[string]any{"confirm": command.Job}
	if token != 0 {
		body["token"] = token
	}
	err = s.command(ctx, "/locks/"+url.PathEscape(command.Job)+"/release", command, body, &taken)
	return taken, err
}

func (s *server) Jobs(ctx context.Context, q view.JobQuery) (view.Page[view.Job], error) {
	query := limited(q.Limit)
	set(query, map[string]string{"cursor": q.After, "q": q.Text})
	return page[view.Job](ctx, s, "/jobs", query)
}

func (s *server) Replicas(ctx context.Context) ([]view.Replica, error) {
	return rows[view.Replica](ctx, s, "/replicas", nil)
}

func (s *server) Locks(ctx context.Context) ([]view.Lock, error) {
	return rows[view.Lock](ctx, s, "/locks", nil)
}

func (s *server) Pauses(ctx context.Context) ([]view.Command, error) {
	return rows[view.Command](ctx, s, "/pauses", nil)
}

func (s *server) Nodes(ctx context.Context) ([]view.Node, error) {
	return rows[view.Node](ctx, s, "/nodes", nil)
}

func (s *server) Check(ctx context.Context) (view.Checkup, error) {
	all, err := rows[view.Check](ctx, s, "/nodes/check", nil)
	return view.CheckupOf(all), err
}

func (s *server) Ticks(ctx context.Context, q view.EntryQuery) (view.Page[view.Tick], error) {
	return entries[view.Tick](ctx, s, "/ticks", q)
}

func (s *server) Runs(ctx context.Context, q view.EntryQuery) (view.Page[view.Run], error) {
	return entries[view.Run](ctx, s, "/runs", q)
}

func (s *server) Attempts(ctx context.Context, run string) ([]view.Tick, error) {
	return rows[view.Tick](ctx, s, "/runs/"+url.PathEscape(run), nil)
}

func (s *server) Next(ctx context.Context, job string, from time.Time, limit int) ([]view.Next, error) {
	query := limited(limit)
	set(query, map[string]string{"job": job, "from": stamp(from)})
	return rows[view.Next](ctx, s, "/next", query)
}

func (s *server) Log(ctx context.Context, _, run string, attempt int) (row view.Log, err error) {
	if !strings.Contains(run, "@") {
		return row, failure.Usagef("with --server give the run's ID, as in quorate runs -o json")
	}
	query := url.Values{"attempt": {strconv.Itoa(attempt)}}
	err = s.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(run)+"/log?"+query.Encode(), nil, &row)
	return row, err
}

func (s *server) Audit(ctx context.Context, q view.AuditQuery) (view.Page[view.Command], error) {
	query := limited(q.Limit)
	set(query, map[string]string{"cursor": q.After, "by": q.By, "job": q.Job, "since": stamp(q.Since)})
	for _, kind := range q.Kinds {
		query.Add("act", string(kind))
	}
	if q.Refused != nil {
		query.Set("refused", map[bool]string{true: "yes", false: "no"}[*q.Refused])
	}
	return page[view.Command](ctx, s, "/audit", query)
}

// jobPath is the path of a job.
func jobPath(job string) string { return "/jobs/" + url.PathEscape(job) }

// pageSize is the most rows of one request.
const pageSize = 1000

// page reads one page of a listing.
func page[R any](ctx context.Context, s *server, path string, query url.Values) (p view.Page[R], err error) {
	err = s.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &p)
	return p, err
}

// rows reads a listing that has one page.
func rows[R any](ctx context.Context, s *server, path string, query url.Values) ([]R, error) {
	p, err := page[R](ctx, s, path, query)
	return p.Items, err
}

// entries reads one page of ticks or runs.
func entries[R any](ctx context.Context, s *server, path string, q view.EntryQuery) (view.Page[R], error) {
	if q.Job != "" {
		path = jobPath(q.Job) + path
	}
	query := limited(q.Limit)
	set(query, map[string]string{"cursor": q.After.String(), "since": stamp(q.Since), "until": stamp(q.Before)})
	for _, o := range q.Outcomes {
		query.Add("outcome", string(o))
	}
	for _, t := range q.Triggers {
		query.Add("trigger", string(t))
	}
	for _, c := range q.Reasons {
		query.Add("reason", string(c))
	}
	return page[R](ctx, s, path, query)
}

// limited returns the parameter for so many rows; 0: as many as one page has.
func limited(most int) url.Values {
	return url.Values{"limit": {strconv.Itoa(min(cmp.Or(most, pageSize), pageSize))}}
}

// set adds the parameters that have a value.
func set(query url.Values, values map[string]string) {
	for name, text := range values {
		if text != "" {
			query.Set(name, text)
		}
	}
}

// stamp writes a time for a parameter; "" for zero.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}
