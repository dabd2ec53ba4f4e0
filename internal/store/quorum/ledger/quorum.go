package ledger

import "github.com/quorate/quorate/internal/store/quorum/members"

// answers returns the replies of the nodes that answered, or locking.ErrNoQuorum.
func answers(set *members.Set, doing string, replies []members.Reply) ([]members.Reply, error) {
	return set.Answers(doing, replies)
}
