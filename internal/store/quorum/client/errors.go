package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/certificate"
)

// ErrDown says that the node did not answer recently, so it was not called. The text
// quotes the last failure.
var ErrDown = errors.New("it is down")

// errLate: the request got no answer in time although the node is up. It may have taken
// effect, or may do so later.
var errLate = errors.New("the request was answered too late, or not at all, while the server was up")

// errUnsent: the request waited in this process and was never sent. The node does not
// know of it, and its health is unaffected.
var errUnsent = errors.New("the request was not sent: it waited too long for earlier ones")

// A ServerError is an error reply of the node's Redis.
type ServerError struct {
	// Code is the first word of the reply, such as OOM or NOAUTH.
	Code string
	// Text is the whole reply.
	Text string
}

// advice says what to do about common error replies of Redis.
var advice = map[string]string{
	"LOADING":     "it is loading its data; it will answer when that is done",
	"BUSY":        "it is busy with a long script",
	"OOM":         "it is out of memory: raise its maxmemory or free some",
	"MISCONF":     "it cannot save to disk and refuses writes: look at its log",
	"NOREPLICAS":  "it writes only while enough replicas follow it: see its min-replicas-to-write",
	"READONLY":    "it is a read-only replica, or became one: only a master grants ticks",
	"MASTERDOWN":  "it is a replica without its master: only a master grants ticks",
	"CLUSTERDOWN": "the Redis Cluster does not serve the keys of the namespace now",
	"TRYAGAIN":    "the Redis Cluster is moving the keys of the namespace to another server",
	"ASK":         "the Redis Cluster is moving the keys of the namespace to another server",
	"MOVED":       "another server of the Redis Cluster has the keys of the namespace now",
	"NOAUTH":      "it needs a password: set redis.password or put user:password@ into its URL",
	"WRONGPASS":   "it rejects the user or password",
	"WRONGTYPE":   "another program uses a key of this namespace: check what is stored there, or choose another namespace",
	"NOPERM":      "the user lacks a permission: see the ACL line in the documentation",
}

func (e *ServerError) Error() string {
	if a, ok := advice[e.Code]; ok {
		return a + " (" + e.Text + ")"
	}
	return e.Text
}

// Passing reports whether the server cannot answer for now, as one that starts. Otherwise it
// refuses until somebody corrects its data, its settings or its rights.
func (e *ServerError) Passing() bool {
	switch e.Code {
	case "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "ASK", "MOVED":
		return true
	}
	return false
}

// Unknown reports whether the server does not know the command.
func (e *ServerError) Unknown() bool { return strings.HasPrefix(e.Text, "ERR unknown command") }

// RefusesWrites reports whether the server, or the user's rights, may refuse all writes.
func (e *ServerError) RefusesWrites() bool {
	switch e.Code {
	case "OOM", "MISCONF", "NOREPLICAS", "READONLY", "NOPERM":
		return true
	}
	return false
}

// serverError finds the code of an error reply. For errors within scripts, some
// versions put it in the middle of the text.
func serverError(text string) *ServerError {
	code, _, _ := strings.Cut(text, " ")
	if _, known := advice[code]; known {
		return &ServerError{Code: code, Text: text}
	}
	if strings.Contains(text, "can't run this command") || strings.Contains(text, "NOPERM") {
		return &ServerError{Code: "NOPERM", Text: text}
	}
	for _, c := range []string{"OOM", "READONLY", "MISCONF", "WRONGTYPE"} {
		if strings.Contains(text, "-"+c+" ") || strings.Contains(text, ": "+c+" ") {
			return &ServerError{Code: c, Text: text}
		}
	}
	return &ServerError{Code: code, Text: text}
}

// A CopiesError says that a request has taken effect at the node, but too few of its
// replicas have that. Another server that takes the node's place may not know of it.
type CopiesError struct {
	Have, Want int
	Why        string // the node refused to count them, or stopped, as one that becomes a replica does
}

func (e *CopiesError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("the server did not say how many of its %d replicas have it: %s", e.Want, e.Why)
	}
	return fmt.Sprintf("%d of the %d replicas of the server have it: start the missing ones, or correct redis.copies", e.Have, e.Want)
}

// oddReply is the error for a script with an invalid reply.
func oddReply(text string) error {
	return &ServerError{Code: "REPLY", Text: "the script answered " + text + " instead of a list of code, clock and strings"}
}

// callError converts the error of a call: to a *ServerError, or to a connection
// failure.
func callError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, uncopied := errors.AsType[*CopiesError](err); uncopied {
		return err
	}
	var answer redis.Error
	if errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout) {
		return serverError(answer.Error())
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// RefusesLogin reports whether the node refuses the user, the password or the certificate, or has a
// certificate that is not trusted. It will do so again.
func RefusesLogin(err error) bool {
	if answer, ok := errors.AsType[*ServerError](err); ok {
		return answer.Code == "NOAUTH" || answer.Code == "WRONGPASS"
	}
	untrusted, byServer := certificate.Refused(err)
	return untrusted || byServer
}

// Answered reports whether the node's server replied at all.
func Answered(err error) bool {
	if err == nil {
		return true
	}
	_, said := errors.AsType[*ServerError](err)
	_, uncopied := errors.AsType[*CopiesError](err)
	return said || uncopied
}

// gaveUp reports whether the caller stopped waiting, which says nothing about the node. A
// socket notices a deadline slightly before the context does.
func gaveUp(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// neverAsked reports whether the call got no connection from this process's own pool,
// which says nothing about the node.
func neverAsked(err error) bool {
	return err != nil && (errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrClosed) || errors.Is(err, errUnsent))
}

// Unsent reports whether the request was not sent, so the script neither has run nor
// will.
func Unsent(err error) bool {
	return errors.Is(err, ErrDown) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, errUnsent)
}
