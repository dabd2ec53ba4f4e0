package nodes

import (
	"fmt"

	"github.com/quorate/quorate/locking"
)

// Answers returns the replies of the nodes that answered. With fewer than a
// quorum it returns locking.ErrNoQuorum with what each of the others said, and
// an error matching locking.ErrRefused too where nodes refused this client.
// Doing says what for, in words.
func (s *Set) Answers(doing string, replies []Reply) ([]Reply, error) {
	var good []Reply
	var errs errorList
	for _, r := range replies {
		if r.Err == nil {
			good = append(good, r)
		} else {
			errs = append(errs, locking.NodeError{Node: r.Node, Err: r.Err})
		}
	}
	if len(good) >= s.Quorum() {
		return good, nil
	}
	return nil, fmt.Errorf("%s: %w: %d of %d nodes can be used: %w",
		doing, locking.ErrNoQuorum, len(good), s.Len(), errs)
}
