package membership

import (
	"context"
	"fmt"
	"strconv"
)

// FormatVersion is the version of all data that this release stores on nodes. It reads
// no other.
const FormatVersion = 2

// untagged is the key of the node's record up to format 1, whose keys had no hash tag.
func untagged(namespace string) string { return namespace + ":node" }

// unrecorded returns ErrBlank for a node without a record, unless it holds data of
// format 1. A Redis Cluster never held that, and keeps its key in another slot.
func (n *Node) unrecorded(ctx context.Context) error {
	if n.link.URL().Cluster() {
		return ErrBlank
	}
	key := untagged(n.set.cfg.Namespace)
	switch held, err := n.link.Holds(ctx, key); {
	case err != nil:
		return fmt.Errorf("it has no record, and whether it holds data of an older format in %s cannot be seen: %w", key, err)
	case held:
		return n.refusal("format", "1")
	}
	return ErrBlank
}

// formatText says that the node's data has another format.
func formatText(held, ns string) string {
	text := fmt.Sprintf("the node holds data of format %s, this release knows format %d only: ", held, FormatVersion)
	if version, _ := strconv.Atoi(held); version > FormatVersion {
		return text + "upgrade quorate to a release that knows format " + held
	}
	return text + fmt.Sprintf("stop all replicas, delete the keys %s:* and %s* on every node (FLUSHALL if nothing else is stored there), then start the replicas", ns, prefix(ns))
}
