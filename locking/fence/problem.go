package fence

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	"github.com/quorate/quorate/locking"
)

// How a token travels over HTTP. A sink refuses it with status 412 and a body of
// ProblemMedia (RFC 9457) whose type is ProblemType. httpfence implements this; a sink
// in another language needs nothing else.
const (
	HeaderToken    = "Fencing-Token"    // the token, in decimal
	HeaderResource = "Fencing-Resource" // the resource, percent-encoded

	ProblemMedia = "application/problem+json"
	ProblemType  = "https://github.com/quorate/quorate/problems/stale-fencing-token"
)

// problem is the body of a refusal.
type problem struct {
	Type     string        `json:"type"`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail"`
	Resource string        `json:"resource"`
	Token    locking.Token `json:"token"`
	Seen     locking.Token `json:"seen"`
}

// Problem returns e as the body of an HTTP response.
func (e *StaleError) Problem() []byte {
	b, _ := json.Marshal(problem{ // strings and numbers always encode
		Type: ProblemType, Title: "Stale fencing token", Status: http.StatusPreconditionFailed,
		Detail:   fmt.Sprintf("the write to %s carries token %d, and %d has written already", e.Resource, e.Token, e.Seen),
		Resource: e.Resource, Token: e.Token, Seen: e.Seen,
	})
	return b
}

// ParseProblem returns the refusal in a response to a write by b, or nil if it is none.
// A 412 may have other reasons, and a refusal of another token is not about this write.
func ParseProblem(b Bearer, status int, contentType string, body []byte) *StaleError {
	// Unreadable parts leave zero values, which never match.
	resource, token, _ := Of(b)
	media, _, _ := mime.ParseMediaType(contentType)
	var p problem
	_ = json.Unmarshal(body, &p)
	if status != http.StatusPreconditionFailed || media != ProblemMedia || p.Type != ProblemType ||
		token == 0 || p.Token != token || p.Seen <= token {
		return nil
	}
	if p.Resource != "" {
		resource = p.Resource
	}
	return &StaleError{Resource: resource, Token: token, Seen: p.Seen}
}
