package ledger

import "github.com/quorate/quorate/internal/store/quorum/membership"

// answers returns the replies of the nodes that answered, or locking.ErrNoQuorum.
func answers(set *membership.Set, doing string, replies []membership.Reply) ([]membership.Reply, error) {
	return set.Answers(doing, replies)
}
