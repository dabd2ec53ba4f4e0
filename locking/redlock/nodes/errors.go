package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/locking"
)

// Why a node gave no vote. Match them with errors.Is.
var (
	// ErrDown: the node did not answer lately, so it was not asked. The text
	// holds what went wrong last.
	ErrDown = errors.New("node is down")
	// ErrBlank: the node holds nothing of this namespace: it is new, or lost
	// its memory. Run and Join format it where the other nodes allow it.
	ErrBlank = errors.New("node is blank")
)

// A RefusedError says that a node and this client do not belong together.
// Asking again cannot help: one of the two must be set up differently.
// It matches locking.ErrRefused.
type RefusedError struct {
	Node string
	// Reason says what the node holds or is, and what to do about it.
	Reason string
}

func (e *RefusedError) Error() string {
	if e.Node == "" {
		return e.Reason
	}
	return e.Node + ": " + e.Reason
}

// Is makes a RefusedError match locking.ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == locking.ErrRefused }

// A ServerError is an error that the node's Redis answered with.
type ServerError struct {
	// Code is the first word of the answer, such as OOM or NOAUTH.
	Code string
	// Text is the whole answer.
	Text string
}

// advice says what to do about the answers that a Redis gives to everybody.
var advice = map[string]string{
	"LOADING":     "the node is loading its data; it will answer when that is done",
	"BUSY":        "the node is busy with somebody's long script",
	"OOM":         "the node is out of memory: raise its maxmemory or free some",
	"MISCONF":     "the node cannot save to disk and refuses writes: look at its log",
	"NOREPLICAS":  "the node wants replicas before it writes: unset min-replicas-to-write",
	"READONLY":    "the node is a read-only replica: list masters only",
	"MASTERDOWN":  "the node is a replica without its master: list masters only",
	"CLUSTERDOWN": "the node is part of a Redis Cluster: list independent masters",
	"MOVED":       "the node is part of a Redis Cluster: list independent masters",
	"NOAUTH":      "the node wants a password: set redis.password or put user:password@ into its URL",
	"WRONGPASS":   "the node knows no such user and password",
	"WRONGTYPE":   "another program uses a key of this namespace: look what the node holds, or choose another namespace",
	"NOPERM":      "the user lacks a permission on the node: see the ACL line in the documentation",
}

func (e *ServerError) Error() string {
	if a, ok := advice[e.Code]; ok {
		return a + " (" + e.Text + ")"
	}
	return e.Text
}

// serverError sorts what a Redis answered. Within scripts some versions put the
// code in the middle of the text.
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

// noQuorum reports too few willing nodes, with what each of the others said.
func noQuorum(have, need int, errs []error) error {
	return fmt.Errorf("%w: %d of the %d nodes needed: %w", locking.ErrNoQuorum, have, need, join(errs...))
}

// errorList is errors on one line; errors.Join would make several.
type errorList []error

// join returns the errors that are not nil as one, nil if there are none.
func join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return errorList(errs)
}

func (l errorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (l errorList) Unwrap() []error { return l }
