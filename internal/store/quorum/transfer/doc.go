// Package transfer writes the contents of another store to new nodes. The nodes are sealed
// meanwhile: they refuse replicas. All nodes must answer.
package transfer
