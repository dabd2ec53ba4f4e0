// Package quorum is the store of a cluster on its Redis nodes. Replicas use it, and
// commands that look at a cluster or act on it without a replica.
package quorum
