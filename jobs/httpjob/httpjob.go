// Package httpjob is the built-in job "http": one HTTP request per run.
//
//	jobs:
//	  nightly:
//	    func: http
//	    schedule: "0 2 * * *"
//	    params:
//	      method: POST                       # default
//	      url: https://reports.example.com/runs
//	      headers: {Authorization: "Bearer ${env:REPORTS_TOKEN}"}
//	      body: '{"customer": "all"}'
//	      expect_status: [2xx, 409]          # default 2xx
//
// The run succeeds when the answer has an expected status. Otherwise the error has the
// status and the beginning of the body. The request ends with the context of the run; the
// job's timeout is the only timeout.
//
// # What the server receives
//
// The request has the headers Quorate-Job, Quorate-Tick, Quorate-Attempt, Fencing-Token,
// Fencing-Resource (the job) and Idempotency-Key. A traced run has traceparent and tracestate, unless
// headers say otherwise.
//
// The Idempotency-Key is the id of the run, the same for every try and attempt of a tick:
// a server that remembers it does the work once. A server that remembers the largest
// Fencing-Token of a resource, and refuses smaller ones, is safe from a replica that was
// paused too long. Package httpfence is such a guard. Its refusal, a 412 with a
// problem+json body, fails the run whatever expect_status says, and the ledger counts it.
//
// # Limits
//
// Redirects are not followed; a 3xx is an answer like any other. Following one could turn a
// POST into a GET, and send the token to another server. Each request uses its own
// connection, so no request is repeated silently after a broken connection. The replica's
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply. Errors and logs show a URL without its
// password and query.
package httpjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// Register registers the job "http".
func Register(r *jobs.Registry) {
	client := newClient()
	jobs.Register(r, "http", func(ctx context.Context, run jobs.Run, p Params) error {
		return do(ctx, client, run, p)
	})
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DisableKeepAlives:   true,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func do(ctx context.Context, client *http.Client, run jobs.Run, p Params) error {
	req, err := newRequest(ctx, run, p)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return requestError(ctx, req, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	run.Logger.Info("answered", slog.Int("status", resp.StatusCode))
	if err := checkStatus(ctx, req, resp, run, p.ExpectStatus); err != nil {
		return err
	}
	// Closing early could cut off a server that responds before its work is done.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return requestError(ctx, req, err)
	}
	return nil
}

func newRequest(ctx context.Context, run jobs.Run, p Params) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, p.Method, p.URL, strings.NewReader(p.Body))
	if err != nil {
		return nil, errors.New("building the request: url or method cannot be used")
	}
	for name, value := range map[string]string{"Traceparent": run.Traceparent, "Tracestate": run.Tracestate} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	for name, value := range p.Headers {
		req.Header.Set(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host // net/http sends req.Host, not the header
	}
	for name, value := range ownHeaders(run) {
		req.Header.Set(name, value)
	}
	return req, nil
}

// requestError says why there is no response. It redacts the URL, which *url.Error
// quotes with its query.
func requestError(ctx context.Context, req *http.Request, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: ended: %w", req.Method, redact(req.URL), context.Cause(ctx))
	}
	return fmt.Errorf("%s %s: %w", req.Method, redact(req.URL), err)
}

// redact returns u without its password and query.
func redact(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := shown.String()
	if u.User != nil {
		text = strings.Replace(text, "://", "://***@", 1)
	}
	if u.RawQuery != "" {
		text += "?***"
	}
	return text
}

// Params of the job "http".
type Params struct {
	// Method of the request. Default: POST.
	Method string `json:"method,omitempty"`
	// URL of the request, http or https. Required.
	URL string `json:"url"`
	// Headers to send besides those of this package.
	Headers map[string]string `json:"headers,omitempty"`
	// Body to send. Set Content-Type among the headers.
	Body string `json:"body,omitempty"`
	// ExpectStatus are the statuses of success. Default: 2xx.
	ExpectStatus Statuses `json:"expect_status,omitempty"`
}

// SetDefaults sets the defaults of optional params.
func (p *Params) SetDefaults() {
	p.Method = http.MethodPost
	p.ExpectStatus = Statuses{"2xx"}
}

// Validate returns a *jobs.ParamError for each invalid param, joined.
func (p *Params) Validate() error {
	errs := []error{validateURL(p.URL)}
	switch {
	case !isToken(p.Method):
		errs = append(errs, paramError("is no HTTP method: write one such as GET or POST", "method"))
	case p.Method != strings.ToUpper(p.Method):
		errs = append(errs, paramError("has small letters: methods are in capitals, such as GET", "method"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		errs = append(errs, validateHeader(name, p.Headers[name]))
	}
	if len(p.ExpectStatus) == 0 {
		errs = append(errs, paramError("is empty: write a status such as 204, or a class such as 2xx", "expect_status"))
	}
	return errors.Join(errs...)
}

func validateURL(raw string) error {
	if raw == "" {
		return paramError("is missing: write the address to send the request to", "url")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil: // err quotes the URL, which may hold a password
		return paramError("is no URL: write one such as https://example.com/path", "url")
	case u.Scheme != "http" && u.Scheme != "https":
		return paramError("must start with http:// or https://", "url")
	case u.Hostname() == "":
		return paramError("names no host: write one such as https://example.com/path", "url")
	}
	if port, err := strconv.Atoi(u.Port()); err == nil && port > 65535 {
		return paramError("has a port above 65535", "url")
	}
	return nil
}

// ownHeaders are the headers that this package sets for every request, by their canonical names.
func ownHeaders(run jobs.Run) map[string]string {
	resource, _ := run.Fence()
	return map[string]string{
		"Quorate-Job":        run.Job,
		"Quorate-Tick":       jobs.FormatTick(run.Tick),
		"Quorate-Attempt":    strconv.Itoa(run.Attempt),
		fence.HeaderToken:    strconv.FormatUint(uint64(run.Token), 10),
		fence.HeaderResource: resource, // a job's name needs no encoding
		"Idempotency-Key":    run.ID,
	}
}

func validateHeader(name, value string) error {
	switch {
	case !isToken(name):
		return paramError("is no header name: write one such as Content-Type", "headers", name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return paramError("has a line break in it: a header is one line", "headers", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return paramError("has a control character in it: remove it", "headers", name)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Host":
		if u, err := url.Parse("http://" + value); err != nil || u.Host != value {
			return paramError("is no host: write one such as example.com:8080", "headers", name)
		}
	case "Content-Length", "Transfer-Encoding", "Trailer":
		return paramError("is set by the HTTP client: remove it", "headers", name)
	}
	if _, own := ownHeaders(jobs.Run{})[http.CanonicalHeaderKey(name)]; own {
		return paramError("is set by quorate for every run: remove it", "headers", name)
	}
	return nil
}

// isToken reports whether s is a valid method or header name (RFC 9110).
func isToken(s string) bool {
	const characters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && strings.Trim(s, characters) == ""
}

func paramError(msg string, path ...string) error {
	return &jobs.ParamError{Path: path, Msg: msg}
}

// Statuses are the status codes of success: codes such as "204" or classes such as
// "2xx". The configuration holds one of them or a list.
type Statuses []string

// UnmarshalParam accepts a whole number, a string, or a list of these.
func (s *Statuses) UnmarshalParam(value any) error {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	*s = nil
	for _, v := range list {
		text := strings.ToLower(fmt.Sprint(v))
		if !isStatus(text) {
			return fmt.Errorf("has %q: write a status such as 204, a class such as 2xx, or a list of these", text)
		}
		*s = append(*s, text)
	}
	return nil
}

func isStatus(s string) bool {
	if len(s) != 3 || s[0] < '2' || s[0] > '5' { // 1xx is no final answer
		return false
	}
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	return s[1:] == "xx" || isDigit(s[1]) && isDigit(s[2])
}

// contain reports whether code is one of s, or belongs to a class in s.
func (s Statuses) contain(code int) bool {
	text := strconv.Itoa(code)
	return slices.Contains(s, text) || slices.Contains(s, text[:1]+"xx")
}

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
