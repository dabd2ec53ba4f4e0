package cmd

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

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/listing"
)

// A server is the API of a replica, which answers in place of the nodes.
type server struct {
	host  string
	base  string
	token string
	http  http.Client
}

// errUnreachable is the error for a server that does not answer at all.
var errUnreachable = errors.New("cannot be reached")

// serverTimeout bounds one answer of a server.
const serverTimeout = 30 * time.Second

// api returns the server that the flags name, nil if they name none.
func (f *flags) api() (*server, error) {
	if f.server == "" {
		return nil, nil
	}
	u, err := url.Parse(f.server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{fmt.Errorf("--server %s: write the address of a replica's http.listen, such as https://cron.example.com", f.server)}
	}
	s := &server{host: u.Host, base: strings.TrimSuffix(f.server, "/") + "/api/v1", token: os.Getenv("QUORATE_TOKEN"), http: http.Client{Timeout: serverTimeout}}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, usageError{fmt.Errorf("--token-file: %w", err)}
		}
		s.token = strings.TrimSpace(string(text))
	}
	return s, nil
}

// call asks for one thing, with a body unless it is nil.
func (s *server) call(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(text))
	if err != nil {
		return usageError{fmt.Errorf("--server: %w", err)}
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return fmt.Errorf("--server %w: %w; name another replica, or leave it out to ask the nodes themselves", errUnreachable, err)
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
		return fmt.Errorf("--server: %s is no API of quorate: %w", s.base, err)
	}
	return nil
}

// refused is the error that a problem of the server stands for: the exit codes are
// those of asking the nodes.
func refused(status int, reply []byte) error {
	var problem struct{ Detail, Code string }
	if err := json.Unmarshal(reply, &problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("--server: it answers with %d %s: is it the address of a replica's http.listen?", status, http.StatusText(status))
	}
	problem.Detail = strings.Map(visible, problem.Detail)
	switch problem.Code {
	case "invalid":
		return usageError{errors.New(problem.Detail)}
	case "not_found":
		return said{problem.Detail, listing.ErrNotFound}
	case "no_quorum":
		return said{problem.Detail, locking.ErrNoQuorum}
	case "unauthorized":
		return errors.New(problem.Detail + ": set $QUORATE_TOKEN, or --token-file")
	}
	return errors.New(problem.Detail)
}

// said is what a server said, and what that is.
type said struct {
	text string
	is   error
}

func (e said) Error() string { return e.text }
func (e said) Unwrap() error { return e.is }

// pageSize is how many rows are asked for at once.
const pageSize = 1000

// rows reads a listing to its end, or until there are as many rows as wanted; 0: all.
func rows[R any](ctx context.Context, s *server, path string, query url.Values, most int) ([]R, error) {
	if query == nil {
		query = url.Values{}
	}
	var all []R
	for {
		var page struct {
			Items         []R
			Next, Partial *string
		}
		if err := s.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if err := partly(page.Partial); err != nil {
			return all, err
		}
		if page.Next == nil || most > 0 && len(all) >= most {
			return all, nil
		}
		query.Set("cursor", *page.Next)
	}
}

// partly is the error of an answer that lacks rows; nil if it does not.
func partly(partial *string) error {
	if partial == nil {
		return nil
	}
	return said{*partial, locking.ErrNoQuorum}
}

// limited is the query for so many rows.
func limited(most int) url.Values {
	return url.Values{"limit": {strconv.Itoa(min(most, pageSize))}}
}
