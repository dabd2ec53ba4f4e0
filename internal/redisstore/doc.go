// Package redisstore is the store of a cluster on its Redis nodes: one group of them, or
// several cells. Replicas use it, and commands that look at a cluster or act on it
// without a replica.
package redisstore
