package redisledger

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// answers returns the replies of the nodes that answered. With fewer than a
// quorum it returns locking.ErrNoQuorum with what each of the others said, and
// an error matching locking.ErrRefused too where nodes refused this client.
func answers(set *nodes.Set, doing string, replies []nodes.Reply) ([]nodes.Reply, error) {
	var good []nodes.Reply
	var errs []error
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
	return nil, fmt.Errorf("%s: %w: %d of %d nodes answered: %w",
		doing, locking.ErrNoQuorum, len(good), set.Len(), errors.Join(errs...))
}
