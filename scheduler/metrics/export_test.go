package metrics

// Nodes are those of a Config.
type Nodes = nodeSet
