package redisledger

import "github.com/quorate/quorate/internal/redlock/members"

// answers returns the replies of the nodes that answered, or locking.ErrNoQuorum.
func answers(set *members.Set, doing string, replies []members.Reply) ([]members.Reply, error) {
	return set.Answers(doing, replies)
}
