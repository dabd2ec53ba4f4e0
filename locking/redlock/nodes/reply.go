package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
)

// A Reply is what became of one call to one node.
type Reply struct {
	Node string
	// Code and Args are what the rule returned; empty if Err is set.
	Code string
	Args []string
	// Sent and Received are by the local clock, monotonic reading kept.
	Sent, Received time.Time
	// NodeTime is the node's clock when it ran the script; zero if it did not.
	NodeTime time.Time
	// Err is why there is no vote: ErrDown, ErrBlank, a *RefusedError, a
	// *ServerError, or a failure of the connection, after which the script may
	// have run, or may run yet, unless the Reply is Unsent.
	Err error

	unsent bool
}

// Int returns the i-th argument as a number, 0 if there is none.
func (r Reply) Int(i int) int64 {
	if i >= len(r.Args) {
		return 0
	}
	n, _ := strconv.ParseInt(r.Args[i], 10, 64)
	return n
}

// Arg returns the i-th argument, "" if there is none.
func (r Reply) Arg(i int) string {
	if i >= len(r.Args) {
		return ""
	}
	return r.Args[i]
}

// Unsent tells whether the node was not even asked: the script has not run there
// and will not.
func (r Reply) Unsent() bool {
	return r.unsent || errors.Is(r.Err, ErrDown) || errors.Is(r.Err, redis.ErrPoolTimeout) || errors.Is(r.Err, errUnsent)
}

// Result says in one word what became of the call: the code in small letters, or
// why there is none. "down" and "unsent" are of nodes that were not asked, "silent"
// of those that did not answer, "blank", "refused" and "error" of those that did.
func (r Reply) Result() string {
	switch {
	case r.Err == nil:
		return strings.ToLower(r.Code)
	case errors.Is(r.Err, ErrDown):
		return "down"
	case r.Unsent(), neverAsked(r.Err):
		return "unsent"
	case errors.Is(r.Err, ErrBlank):
		return "blank"
	case errors.Is(r.Err, locking.ErrRefused):
		return "refused"
	case silent(r.Err):
		return "silent"
	}
	return "error"
}

// fields turns a script's result into strings. Numbers and nils are taken too,
// so that a slip in a script reads as an odd reply, not as a lost one.
func fields(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return nil, oddReply(fmt.Sprint(v))
	}
	out := make([]string, len(list))
	for i, e := range list {
		switch e := e.(type) {
		case string:
			out[i] = e
		case int64:
			out[i] = strconv.FormatInt(e, 10)
		case nil:
		default:
			return nil, oddReply(fmt.Sprint(v))
		}
	}
	return out, nil
}

// oddReply is the error of a script that does not answer as it should.
func oddReply(text string) error {
	return &ServerError{Code: "REPLY", Text: "the script answered " + text + " instead of a list of code, clock and strings"}
}

// callError sorts a failed call: an answer of the server, or none.
func callError(ctx context.Context, err error) error {
	var answer redis.Error
	if errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout) {
		return serverError(answer.Error())
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
