package redisledger

import "github.com/quorate/quorate/locking/redlock/nodes"

// answers returns the replies of the nodes that answered, or
// locking.ErrNoQuorum.
func answers(set *nodes.Set, doing string, replies []nodes.Reply) ([]nodes.Reply, error) {
	return set.Answers(doing, replies)
}
