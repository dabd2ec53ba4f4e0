package nodes

import "fmt"

// refusal puts into words what prelude.lua refused: a field and what the node
// holds there.
func (n *Node) refusal(args []string) *RefusedError {
	what, held := args[0], ""
	if len(args) > 1 {
		held = args[1]
	}
	return &RefusedError{Node: n.name, Reason: n.refusalText(what, held)}
}

func (n *Node) refusalText(what, held string) string {
	s := n.set
	switch what {
	case "format":
		return fmt.Sprintf("the node holds format %s, this release knows up to %d: upgrade quorate to a release that knows format %s", held, FormatVersion, held)
	case "info":
		return fmt.Sprintf("the node's run_id cannot be read (%s): allow the user +info, without it a restart would go unnoticed", held)
	case "members":
		return fmt.Sprintf("the node belongs to the list [%s], this replica lists [%s]: give every replica of the namespace the same %s; quorate nodes change moves a cluster to another list", listText(held), listText(s.members.names), s.listedIn())
	case "epoch":
		return fmt.Sprintf("the node's list has epoch %s, this replica's %d: the list was changed; restart the replica with the new configuration", held, s.Epoch())
	case "name":
		return fmt.Sprintf("the node knows itself as %s, this replica lists it as %s: were two URLs swapped?", held, n.name)
	case "grace":
		return fmt.Sprintf("the node holds restart_grace %sms, this replica %v: give every replica the same redis.restart_grace", held, s.cfg.Grace)
	case "record":
		return fmt.Sprintf("the key %s there is not Quorate's: another program uses this namespace; delete the key on the node (DEL %s), or choose another namespace", held, held)
	case "sealed":
		return fmt.Sprintf("the node is sealed for a change to the list [%s]: finish it with quorate nodes change, then restart the replicas with the configuration of that list", listText(held))
	case "clock":
		return fmt.Sprintf("the node's clock is %sms behind those of the nodes that the cluster comes from: set the clocks right and try again", held)
	case "ttl":
		return fmt.Sprintf("lock.ttl %v must be below the restart_grace %sms that the node holds", s.cfg.TTL, held)
	}
	return fmt.Sprintf("the node refuses this client: %s %s", what, held)
}
