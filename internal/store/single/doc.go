// Package single is the store of a cluster on one consistent store, such as PostgreSQL.
// Replicas use it, and commands that look at a cluster or act on it without a replica.
// [Cluster] puts its rooms together: claims, ledger and acts.
package single
