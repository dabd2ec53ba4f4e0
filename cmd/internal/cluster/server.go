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
	"strings"
	"time"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
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

// act requests an act.
func (s *server) act(ctx context.Context, path string, act acts.Act, body map[string]any, answer any) error {
	if act.Reason == "" {
		return failure.Usagef(`give a reason with --reason "…": the API requires one`)
	}
	body["reason"] = act.Reason
	return s.call(ctx, http.MethodPost, path, body, answer)
}

func (s *server) Trigger(ctx context.Context, act acts.Act) (Request, error) {
	body := map[string]any{"within": act.Within.String()}
	if len(act.Params) > 0 {
		body["params"] = act.Params
	}
	var done view.Act
	err := s.act(ctx, jobPath(act.Job)+"/trigger", act, body, &done)
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

func (s *server) PauseOrResume(ctx context.Context, act acts.Act, id string) (view.Act, string, error) {
	path, body := "/"+string(act.Kind), map[string]any{}
	switch {
	case id != "":
		body["id"] = id
	case act.Job != "":
		path = jobPath(act.Job) + path
	case act.Tag != "":
		body["tag"] = act.Tag
	default:
		body["all"] = true
	}
	var done struct {
		Act   view.Act
		Doubt *string
	}
	err := s.act(ctx, path, act, body, &done)
	return done.Act, view.Text(done.Doubt), err
}

func (s *server) Cancel(ctx context.Context, act acts.Act, waiting bool) (done Cancelled, err error) {
	body := map[string]any{"waiting": waiting}
	if act.Run != "" {
		body["run"] = act.Run
	}
	err = s.act(ctx, jobPath(act.Job)+"/cancel", act, body, &done)
	return done, err
}

func (s *server) Backfill(ctx context.Context, act acts.Act, dry bool) ([]time.Time, error) {
	body := map[string]any{
		"from": act.From.Format(time.RFC3339), "to": act.To.Format(time.RFC3339), "within": act.Within.String(),
		"concurrency": act.Concurrency, "dry_run": dry,
	}
	if dry && act.Reason == "" {
		act.Reason = "dry run"
	}
	var done struct{ Ticks []string }
	err := s.act(ctx, jobPath(act.Job)+"/backfill", act, body, &done)
	return asRows(done.Ticks, func(at string) time.Time { return view.Time(&at) }), err
}

func (s *server) Release(ctx context.Context, act acts.Act, token uint64) (taken view.Lock, warning string, err error) {
	body := map[string]any{"confirm": act.Job}
	if token != 0 {
		body["token"] = token
	}
	err = s.act(ctx, "/locks/"+url.PathEscape(act.Job)+"/release", act, body, &taken)
	return taken, "", err
}
