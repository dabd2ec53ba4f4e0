package metrics

import "github.com/quorate/quorate/internal/store/quorum/membership"

// Other is the label of the jobs that have none of their own.
const Other = "other"

// A Config is what Metrics need to know; the zero value is fine.
type Config struct {
	// Replica and Version are labels of quorate_build_info.
	Replica string
	Version string
	// Jobs are the names of the jobs at the start; the observer gets later ones.
	Jobs []string
	// MaxJobs bounds the jobs with a label of their own. Default 100; negative: none has.
	MaxJobs int
	// Ready reports whether the replica takes ticks. Without it there is no
	// quorate_replica_ready.
	Ready func() bool
	// Nodes is set by Begin. Without it there are no gauges of nodes.
	Nodes func() nodeSet
}

// nodeSet are the nodes of the cluster: a *membership.Set.
type nodeSet interface {
	// Quorum is how many of them decide.
	Quorum() int
	// NodeStates returns what is known of each node, without calls.
	NodeStates() []membership.NodeState
}
