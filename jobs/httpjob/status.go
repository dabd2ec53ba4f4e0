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

// keptBody is how many bytes of a failure's answer an error keeps.
const keptBody = 2 << 10

// A StatusError is an answer with a status that was not expected.
type StatusError struct {
	Method string
	URL    string // without password and query
	Code   int
	Want   Statuses
	// Location is where a redirect led, without password and query.
	Location string
	// Body is the beginning of the answer's body.
	Body string
}

// Error has the request, the status, and the body in one line.
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

// judge returns nil for a status that was wanted. A refusal of the run's token
// is a failure whatever was wanted, and is reported.
func judge(ctx context.Context, req *http.Request, resp *http.Response, run jobs.Run, want Statuses) error {
	if want.contain(resp.StatusCode) && resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	// Whatever of the body arrived is kept, the failure is the status.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, keptBody))
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
