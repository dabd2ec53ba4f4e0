package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	return Cluster{Service: s, Name: u.Host, NeedsReason: true}, nil
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

// post posts a command.
func post[R any](ctx context.Context, s *server, path string, command commands.Command, body map[string]any) (answer R, err error) {
	if command.Reason == "" {
		return answer, failure.Usagef(`give a reason with --reason "…": the API requires one`)
	}
	body["reason"] = command.Reason
	err = s.call(ctx, http.MethodPost, path, body, &answer)
	return answer, err
}

func (s *server) Trigger(ctx context.Context, command commands.Command) (view.Command, error) {
	body := map[string]any{"within": command.Within.String()}
	if len(command.Params) > 0 {
		body["params"] = command.Params
	}
	return post[view.Command](ctx, s, jobPath(command.Job)+"/trigger", command, body)
}

func (s *server) PauseOrResume(ctx context.Context, command commands.Command, id string) (view.PauseResult, error) {
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
	if !command.Until.IsZero() {
		body["until"] = command.Until.Format(time.RFC3339)
	}
	if command.Within > 0 {
		body["for"] = command.Within.String()
	}
	return post[view.PauseResult](ctx, s, path, command, body)
}

func (s *server) Cancel(ctx context.Context, command commands.Command, waiting bool) (view.Cancelled, error) {
	body := map[string]any{"waiting": waiting}
	if command.Run != "" {
		body["run"] = command.Run
	}
	return post[view.Cancelled](ctx, s, jobPath(command.Job)+"/cancel", command, body)
}

func (s *server) Backfill(ctx context.Context, command commands.Command, dry bool) ([]time.Time, error) {
	body := map[string]any{
		"from": command.From.Format(time.RFC3339), "to": command.To.Format(time.RFC3339), "within": command.Within.String(),
		"concurrency": command.Concurrency, "dry_run": dry,
	}
	if dry && command.Reason == "" {
		command.Reason = "dry run"
	}
	done, err := post[struct{ Ticks []time.Time }](ctx, s, jobPath(command.Job)+"/backfill", command, body)
	return done.Ticks, err
}

func (s *server) Release(ctx context.Context, command commands.Command, token locking.Token) (view.Lock, error) {
	body := map[string]any{"confirm": command.Job}
	if token != 0 {
		body["token"] = token
	}
	return post[view.Lock](ctx, s, "/locks/"+url.PathEscape(command.Job)+"/release", command, body)
}

func (s *server) Jobs(ctx context.Context, q view.JobQuery) (view.Page[view.Job], error) {
	return page[view.Job](ctx, s, "/jobs", q.Limit, url.Values{"cursor": {q.After}, "q": {q.Text}})
}

func (s *server) Replicas(ctx context.Context) ([]view.Replica, error) {
	return rows[view.Replica](ctx, s, "/replicas")
}

func (s *server) Left(ctx context.Context) ([]view.Replica, error) {
	return rows[view.Replica](ctx, s, "/replicas/left")
}

func (s *server) Locks(ctx context.Context) ([]view.Lock, error) {
	return rows[view.Lock](ctx, s, "/locks")
}

func (s *server) Pauses(ctx context.Context) ([]view.Command, error) {
	return rows[view.Command](ctx, s, "/pauses")
}

func (s *server) Nodes(ctx context.Context) ([]view.Node, error) {
	return rows[view.Node](ctx, s, "/nodes")
}

func (s *server) Check(ctx context.Context) (view.Checkup, error) {
	all, err := rows[view.Check](ctx, s, "/nodes/check")
	return view.CheckupOf(all), err
}

func (s *server) Ticks(ctx context.Context, q view.EntryQuery) (view.Page[view.Tick], error) {
	return entries[view.Tick](ctx, s, "/ticks", q)
}

func (s *server) Runs(ctx context.Context, q view.EntryQuery) (view.Page[view.Run], error) {
	return entries[view.Run](ctx, s, "/runs", q)
}

func (s *server) Attempts(ctx context.Context, run string) ([]view.Tick, error) {
	return rows[view.Tick](ctx, s, "/runs/"+url.PathEscape(run))
}

func (s *server) Next(ctx context.Context, job string, from time.Time, limit int) ([]view.Next, error) {
	p, err := page[view.Next](ctx, s, "/next", limit, url.Values{"job": {job}, "from": {stamp(from)}})
	return p.Items, err
}

func (s *server) Log(ctx context.Context, _, run string, attempt int) (view.Log, error) {
	if !strings.Contains(run, "@") {
		return view.Log{}, failure.Usagef("with --server give the run's ID, as in quorate runs -o json")
	}
	return get[view.Log](ctx, s, "/runs/"+url.PathEscape(run)+"/log?attempt="+strconv.Itoa(attempt))
}

func (s *server) Audit(ctx context.Context, q view.AuditQuery) (view.Page[view.Command], error) {
	query := url.Values{"cursor": {q.After}, "by": {q.By}, "job": {q.Job}, "since": {stamp(q.Since)}, "act": output.Texts(q.Kinds)}
	if q.Refused != nil {
		query.Set("refused", map[bool]string{true: "yes", false: "no"}[*q.Refused])
	}
	return page[view.Command](ctx, s, "/audit", q.Limit, query)
}

// jobPath is the path of a job.
func jobPath(job string) string { return "/jobs/" + url.PathEscape(job) }

// get reads an answer.
func get[R any](ctx context.Context, s *server, path string) (answer R, err error) {
	err = s.call(ctx, http.MethodGet, path, nil, &answer)
	return answer, err
}

// pageSize is the most rows of one request.
const pageSize = 1000

// page reads one page of a listing, of so many rows; 0: as many as one page has. Parameters
// without a value are left out.
func page[R any](ctx context.Context, s *server, path string, limit int, query url.Values) (view.Page[R], error) {
	maps.DeleteFunc(query, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	query.Set("limit", strconv.Itoa(min(cmp.Or(limit, pageSize), pageSize)))
	return get[view.Page[R]](ctx, s, path+"?"+query.Encode())
}

// rows reads a listing that has one page.
func rows[R any](ctx context.Context, s *server, path string) ([]R, error) {
	p, err := get[view.Page[R]](ctx, s, path)
	return p.Items, err
}

// entries reads one page of ticks or runs.
func entries[R any](ctx context.Context, s *server, path string, q view.EntryQuery) (view.Page[R], error) {
	if q.Job != "" {
		path = jobPath(q.Job) + path
	}
	return page[R](ctx, s, path, q.Limit, url.Values{
		"cursor": {q.After.String()}, "since": {stamp(q.Since)}, "until": {stamp(q.Before)},
		"outcome": output.Texts(q.Outcomes), "trigger": output.Texts(q.Triggers), "reason": output.Texts(q.Reasons),
	})
}

// stamp writes a time for a parameter; "" for zero.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}
