package httpjob

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// An error keeps maxBody bytes of a failed response's body. To mask these, up to maxRead are
// read.
const (
	maxBody = 2 << 10
	maxRead = 1 << 20
)

// A StatusError is a response with an unexpected status.
type StatusError struct {
	Method string
	URL    string // without password and query
	Code   int
	Want   Statuses
	// Location is the target of a redirect, without password and query.
	Location string
	// Body is the beginning of the response's body, in one line.
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
		b.WriteString(": " + e.Body)
	}
	return b.String()
}

// checkStatus returns nil for an expected status. A refusal of the run's token is
// always an error, and is reported to the observer.
func checkStatus(ctx context.Context, req *http.Request, resp *http.Response, run jobs.Run, want Statuses) error {
	if want.contain(resp.StatusCode) && resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	hide := mask.From(ctx)
	body, text := readBody(resp.Body, hide)
	if stale := fence.ParseProblem(run, resp.StatusCode, resp.Header.Get("Content-Type"), body); stale != nil {
		return fmt.Errorf("%s %s: %w", req.Method, redact(req.URL), fence.Refused(ctx, stale))
	}
	if want.contain(resp.StatusCode) {
		return nil
	}
	e := &StatusError{Method: req.Method, URL: redact(req.URL), Code: resp.StatusCode, Want: want, Body: text}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		e.Location = redact(to)
	}
	return e
}

// readBody returns the beginning of a body, and the same as text in one line, masked before
// it is cut. A read error does not matter: the status is the failure.
func readBody(r io.Reader, hide *mask.Mask) (body []byte, text string) {
	var masked bytes.Buffer
	w := hide.Writer(&masked)
	piece := make([]byte, maxBody)
	for masked.Len() <= maxBody && len(body) < maxRead {
		n, err := r.Read(piece)
		body = append(body, piece[:n]...)
		_, _ = w.Write(piece[:n]) // a buffer takes everything
		if err != nil {
			_ = w.Close()
			break
		}
	}
	text = strings.ToValidUTF8(masked.String(), "")
	if len(text) > maxBody {
		cut := maxBody
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return body[:min(len(body), maxBody)], strings.Join(strings.Fields(text), " ")
}
