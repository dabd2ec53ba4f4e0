// Package ledger keeps the ledger and the roster on the nodes that vote.
//
// # Ledger
//
// Each node stores a job's records in two sorted sets, ordered by tick. Claims fill the
// set of runs. A release adds how the run finished (F), or late (L) on a node that had
// granted a later claim or none. The start (S) is the claim itself while it is the
// latest of its stream. A later claim moves it to the set if it has not ended. This
// package adds ticks that did not run (N) to the set of notes. It reads both sets, and
// the claims.
//
// A reader asks all nodes and needs a quorum of answers. A quorum accepted each claim,
// so every claim whose nodes kept their memory is among the answers. The answers about
// one claim are merged:
//
//	any F or L                  → how the run ended, in the run's own words
//	S, and a lock of its owner  → running
//	S alone                     → interrupted: the lease expired without a finish
//	S on fewer than a quorum    → interrupted, and it may not even have started:
//	                              its attempt was given up half-way, or nodes
//	                              lost their memory
//
// A tick without a claim has the outcome that was recorded: a skip before a miss, then
// what most nodes recorded. Each node keeps a bounded number of runs and of notes per
// job, and drops the earliest ticks. It stores the latest tick dropped. Readers ignore
// notes up to the latest dropped tick of all nodes, since a run of that tick may have
// been dropped.
//
// # Roster
//
// Heartbeats and the definitions of jobs are fields of two hashes per node. Nodes judge
// by their own clocks whether a heartbeat is recent, so different clocks of replicas do
// no harm. The contents of a set of jobs have their own key. It expires a day after the
// last renewal by a replica that serves the set.
package ledger
