package membership

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// A Reply is the result of one call to one node.
type Reply struct {
	Node string
	// Code and Args are the rule's answer; empty if Err is set.
	Code string
	Args []string
	// Sent and Received are by the local clock, with monotonic reading.
	Sent, Received time.Time
	// NodeTime is the node's clock when it ran the script; zero if it did not.
	NodeTime time.Time
	// Err is why there is no vote: client.ErrDown, ErrBlank, a *RefusedError, a
	// *client.ServerError, or a connection failure. After such a failure the script may
	// have run, or may still run, unless the Reply is Unsent.
	Err error

	unsent bool
}

// Int returns the i-th argument as a number, 0 if there is none.
func (r Reply) Int(i int) int64 {
	n, _ := strconv.ParseInt(r.Arg(i), 10, 64)
	return n
}

// Arg returns the i-th argument, "" if there is none.
func (r Reply) Arg(i int) string {
	if i >= len(r.Args) {
		return ""
	}
	return r.Args[i]
}

// offset is how far the node's clock was ahead of the local one in the middle of the
// call.
func (r Reply) offset() time.Duration {
	return r.NodeTime.Sub(r.Sent.Add(r.Received.Sub(r.Sent) / 2))
}

// Unsent reports whether the node was not called, so the script neither has run nor will.
func (r Reply) Unsent() bool {
	return r.unsent || client.Unsent(r.Err)
}

// Result returns the code in lower case, or one word for the error: "down" and "unsent"
// for nodes that were not called, "silent" for nodes that did not answer, "blank",
// "refused" and "error" for those that did.
func (r Reply) Result() string {
	switch {
	case r.Err == nil:
		return strings.ToLower(r.Code)
	case errors.Is(r.Err, client.ErrDown):
		return "down"
	case r.Unsent(), errors.Is(r.Err, redis.ErrClosed):
		return "unsent"
	case errors.Is(r.Err, ErrBlank):
		return "blank"
	case errors.Is(r.Err, locking.ErrRefused):
		return "refused"
	case !answered(r.Err):
		return "silent"
	}
	return "error"
}

// Refuses reports whether err is a refusal: by a node that is of another cluster, or by its
// server, which has the request but lacks rights, space, or what it is set to demand.
func Refuses(err error) bool {
	answer, ok := errors.AsType[*client.ServerError](err)
	return errors.Is(err, locking.ErrRefused) || ok && !answer.Passing()
}

// answered reports whether err is an answer of the node, as nil is.
func answered(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused || errors.Is(err, ErrBlank) || client.Answered(err)
}
