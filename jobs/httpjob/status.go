package httpjob

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// maxBody is how many bytes of a failed response's body an error keeps.
const maxBody = 2 << 10

// A StatusError is a response with an unexpected status.
type StatusError struct {
	Method string
	URL    string // without password and query
	Code   int
	Want   Statuses
	// Location is the target of a redirect, without password and query.
	Location string
	// Body is the beginning of the response's body.
	Body string
}

// Error returns the request, the status, and the body in one line.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: status %d", e.Method, e.URL, e.Code)
	if text := http.StatusText(e.Code); text != "" {
		b.WriteString(" " + text)
	}
	fmt.Fprintf(&b, ", want %s", strings.Join(e.Want, " or "))
	if e.Location != "" {
		fmt.Fprintf(&b, "; redirects are not followed, it leads to %s", e.Location)
	}
	if e.Body != "" {
		b.WriteString(": " + strings.Join(strings.Fields(e.Body), " "))
	}
	return b.String()
}

// checkStatus returns nil for an expected status. A refusal of the run's token is
// always an error, and is reported to the observer.
func checkStatus(ctx context.Context, req *http.Request, resp *http.Response, run jobs.Run, want Statuses) error {
	if want.contain(resp.StatusCode) && resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	// A read error does not matter: the status is the failure.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if stale := fence.ParseProblem(run, resp.StatusCode, resp.Header.Get("Content-Type"), body); stale != nil {
		return fmt.Errorf("%s %s: %w", req.Method, redact(req.URL), fence.Refused(ctx, stale))
	}
	if want.contain(resp.StatusCode) {
		return nil
	}
	e := &StatusError{Method: req.Method, URL: redact(req.URL), Code: resp.StatusCode, Want: want}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		e.Location = redact(to)
	}
	e.Body = strings.ToValidUTF8(string(body), "")
	return e
}
