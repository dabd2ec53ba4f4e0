// Package problem maps errors to answers with an HTTP status and a code: for programs as in
// RFC 9457, for people as a page.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// A Problem is an error answer as in RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title" jsonschema:"Name of the status."`
	Status int    `json:"status"`
	Detail string `json:"detail" jsonschema:"The problem, and what to do."`
	Code   string `json:"code" jsonschema:"For programs; it never changes."`

	Wait  time.Duration `json:"-"` // after which it makes sense to try again
	Grace bool          `json:"-"` // the store answers, but does not vouch for commands yet
	Form  bool          `json:"-"` // a form asks who it is, not a dialog of the browser

	heading string // of its page, if the status does not say it
}

// CodeReused means that the Idempotency-Key was used for another command.
const CodeReused = "key_reused"

// codeSplit: concurrent requests split the votes.
const codeSplit = "split"

// New returns a problem with an HTTP status.
func New(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// BadRequest is an invalid request.
func BadRequest(detail string) *Problem {
	return New(http.StatusBadRequest, "invalid", detail)
}

// Unauthorized says that the request has no valid credentials.
func Unauthorized(detail string) *Problem {
	return New(http.StatusUnauthorized, "unauthorized", detail)
}

// Forbidden says that the user lacks the role.
func Forbidden(detail string) *Problem {
	return New(http.StatusForbidden, "forbidden", detail)
}

// TooMany says that the client must wait before the next try.
func TooMany(detail string, wait time.Duration) *Problem {
	p := New(http.StatusTooManyRequests, "too_many", detail+"; try again in "+wait.Round(time.Second).String())
	p.Wait = wait
	return p
}

// Of returns the problem for an error of the cluster, which has nodes or one store; nil for an internal
// error.
func Of(err error, oneStore bool) *Problem {
	text := strings.Join(strings.Split(err.Error(), "\n"), "; ")
	_, command := errors.AsType[*commands.Error](err)
	_, invalid := errors.AsType[*view.InvalidError](err)
	_, impossible := errors.AsType[*view.ImpossibleError](err)
	_, reused := errors.AsType[*commands.ReusedIDError](err)
	switch {
	case reused:
		return New(http.StatusUnprocessableEntity, CodeReused, "this Idempotency-Key was used for another command; choose a new one")
	case command, invalid, errors.Is(err, view.ErrCursor):
		return BadRequest(text)
	case impossible:
		return New(http.StatusConflict, "impossible", text)
	case errors.Is(err, view.ErrNotFound):
		return New(http.StatusNotFound, "not_found", text)
	case errors.Is(err, locking.ErrNoQuorum):
		p := New(http.StatusServiceUnavailable, "no_quorum", text)
		p.Wait, p.Grace = 5*time.Second, errors.Is(err, commands.ErrGrace)
		switch {
		case p.Grace && oneStore:
			p.heading = "The store is new or has restarted"
		case p.Grace:
			p.heading = "The nodes are new or have restarted"
		case oneStore:
			p.heading = "The store does not answer"
		default:
			p.heading = "No quorum of nodes answers"
		}
		return p
	case errors.Is(err, locking.ErrSplit):
		p := New(http.StatusServiceUnavailable, codeSplit, text)
		p.Wait, p.heading = time.Second, "Too many concurrent requests"
		return p
	case errors.Is(err, context.DeadlineExceeded):
		p := New(http.StatusGatewayTimeout, "timeout", "the nodes took too long to answer")
		if p.heading = "The nodes answer too slowly"; oneStore {
			p.Detail, p.heading = "the store took too long to answer", "The store answers too slowly"
		}
		return p
	}
	return nil
}

// Split reports whether concurrent requests split the votes; the nodes are well.
func (p *Problem) Split() bool { return p.Code == codeSplit }

// Heading is the heading of the problem's page.
func (p *Problem) Heading() string {
	if p.heading != "" {
		return p.heading
	}
	switch p.Status {
	case http.StatusBadRequest:
		return "Cannot show this page"
	case http.StatusUnauthorized:
		return "Log in"
	case http.StatusForbidden:
		return "Your role does not allow this"
	}
	return p.Title
}

// Write sends the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	p.Head(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// Head sets the headers that help the client.
func (p *Problem) Head(h http.Header) {
	if p.Status == http.StatusUnauthorized {
		if !p.Form {
			h.Add("WWW-Authenticate", `Basic realm="quorate", charset="UTF-8"`)
		}
		h.Add("WWW-Authenticate", `Bearer realm="quorate"`)
	}
	if p.Wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.Wait.Seconds()))))
	}
}
