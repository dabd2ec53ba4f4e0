package redisledger

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// answers returns the replies of the nodes that answered. With fewer than a
// quorum it returns locking.ErrNoQuorum with what each of the others said, and
// an error matching locking.ErrRefused too where nodes refused this client.
func answers(set *nodes.Set, doing string, replies []nodes.Reply) ([]nodes.Reply, error) {
	var good []nodes.Reply
	var errs errorList
	for _, r := range replies {
		if r.Err == nil {
			good = append(good, r)
		} else {
			errs = append(errs, locking.NodeError{Node: r.Node, Err: r.Err})
		}
	}
	if len(good) >= set.Quorum() {
		return good, nil
	}
	return nil, fmt.Errorf("%s: %w: %d of %d nodes can be used: %w",
		doing, locking.ErrNoQuorum, len(good), set.Len(), errs)
}

// errorList is errors on one line; errors.Join would make several.
type errorList []error

func (l errorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (l errorList) Unwrap() []error { return l }
