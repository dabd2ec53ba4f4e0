package web

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A problem is an answer that says what is wrong, as RFC 9457 has it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is for programs: it never changes.
	Code string `json:"code"`

	wait time.Duration // after which it makes sense to try again
}

// codeReused is the code of a problem with an Idempotency-Key.
const codeReused = "key_reused"

// codeSplit is the code of a problem that others asked at the same moment.
const codeSplit = "split"

func newProblem(status int, code, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

func badRequest(detail string) *problem {
	return newProblem(http.StatusBadRequest, "invalid", detail)
}

func unauthorized(detail string) *problem {
	return newProblem(http.StatusUnauthorized, "unauthorized", detail)
}

func forbidden(detail string) *problem {
	return newProblem(http.StatusForbidden, "forbidden", detail)
}

func tooMany(detail string, wait time.Duration) *problem {
	p := newProblem(http.StatusTooManyRequests, "too_many", detail+"; try again in "+wait.Round(time.Second).String())
	p.wait = wait
	return p
}

// problemOf says what an error of the cluster means for who made the request; nil
// if it is the server's own.
func problemOf(err error) *problem {
	text := strings.Join(strings.Split(err.Error(), "\n"), "; ")
	_, act := errors.AsType[*scheduler.ActError](err)
	_, invalid := errors.AsType[*listing.InvalidError](err)
	_, impossible := errors.AsType[*listing.ImpossibleError](err)
	_, reused := errors.AsType[*scheduler.ReusedIDError](err)
	switch {
	case reused:
		return newProblem(http.StatusUnprocessableEntity, codeReused, "this Idempotency-Key was used for another act; choose a new one")
	case act, invalid, errors.Is(err, listing.ErrCursor):
		return badRequest(text)
	case impossible:
		return newProblem(http.StatusConflict, "impossible", text)
	case errors.Is(err, listing.ErrNotFound):
		return newProblem(http.StatusNotFound, "not_found", text)
	case errors.Is(err, locking.ErrNoQuorum):
		p := newProblem(http.StatusServiceUnavailable, "no_quorum", text)
		p.wait = 5 * time.Second
		return p
	case errors.Is(err, locking.ErrSplit):
		p := newProblem(http.StatusServiceUnavailable, codeSplit, text)
		p.wait = time.Second
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusGatewayTimeout, "timeout", "the nodes took too long to answer")
	}
	return nil
}

// Split tells whether others asked at the same moment, while the nodes are well.
func (p *problem) Split() bool { return p.Code == codeSplit }

// Heading says what is wrong to who looks at a page.
func (p *problem) Heading() string {
	if p.Split() {
		return "Too many ask for the same at once"
	}
	switch p.Status {
	case http.StatusBadRequest:
		return "This cannot be shown"
	case http.StatusUnauthorized:
		return "Log in"
	case http.StatusForbidden:
		return "Your role does not allow this"
	case http.StatusServiceUnavailable:
		return "No quorum of the nodes answers"
	case http.StatusGatewayTimeout:
		return "The nodes take too long"
	}
	return p.Title
}

// write answers with the problem.
func (p *problem) write(w http.ResponseWriter) {
	p.head(w.Header())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who asked may have gone
}

// head says in the header how to do better.
func (p *problem) head(h http.Header) {
	if p.Status == http.StatusUnauthorized {
		h.Add("WWW-Authenticate", `Basic realm="quorate", charset="UTF-8"`)
		h.Add("WWW-Authenticate", `Bearer realm="quorate"`)
	}
	if p.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.wait.Seconds()))))
	}
}
