package httpjob

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

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

// ownHeaders are the headers that this package sets for every request.
func ownHeaders() []string {
	return []string{
		"Quorate-Job", "Quorate-Tick", "Quorate-Attempt", fence.HeaderToken, fence.HeaderResource, "Idempotency-Key",
	}
}

func validateHeader(name, value string) error {
	if !isToken(name) {
		return paramError("is no header name: write one such as Content-Type", "headers", name)
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return paramError("has a line break in it: a header is one line", "headers", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
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
	for _, own := range ownHeaders() {
		if strings.EqualFold(own, name) {
			return paramError("is set by quorate for every run: remove it", "headers", name)
		}
	}
	return nil
}

// isToken reports whether s is a valid method or header name (RFC 9110).
func isToken(s string) bool {
	const symbols = "!#$%&'*+-.^_`|~"
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(symbols, r) {
			return false
		}
	}
	return s != ""
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
	text := fmt.Sprint(code)
	for _, want := range s {
		if want == text || want == text[:1]+"xx" {
			return true
		}
	}
	return false
}
