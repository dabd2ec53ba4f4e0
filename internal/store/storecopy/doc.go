// Package storecopy copies a store to another one while no replica runs: from Redis nodes to
// PostgreSQL, for example, or back. Packages quorum and single implement [Side].
//
// A claim is copied without its lease. Its tick stays done, or open to a rerun. Tokens of the
// target begin above all tokens of the source. What the source may have forgotten counts as
// claimed in the target, too. So no tick runs a second time, and tokens only grow.
//
// Nothing is copied of replicas, of acts before the latest ones of the audit log, and of the
// names of Redis nodes.
//
// From [Side.Begin] to [Side.End] the target refuses replicas. A copy that was stopped is not
// continued: the target must be emptied first.
package storecopy
