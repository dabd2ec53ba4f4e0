// Package redisledger keeps the ledger and the roster on the nodes that vote.
//
// # Ledger
//
// A job's records live in two sorted sets per node, ordered by tick. Claims fill that of
// runs: a claim adds its start (S), and a release replaces it with its finish (F). On a
// node that had granted a later claim or none the finish is late (L). This package adds
// ticks that did not run (N) to the set of notes, and reads both.
//
// A reader asks all nodes and needs a quorum of answers. A claim was accepted by
// a quorum, so every claim whose nodes kept their memory is among the answers.
// What they say of one claim is merged:
//
//	any F or L                  → how the run ended, in the run's own words
//	S, and a lock of its owner  → running
//	S alone                     → interrupted: the lease ran out without a finish
//	S on fewer than a quorum    → interrupted, and it may not even have started:
//	                              its attempt was given up half-way, or nodes
//	                              lost their memory
//
// A tick with no claim is what was recorded of it: a skip before a miss, then
// what most nodes say. Each node keeps a bounded number of runs and of notes per job and
// drops those of the earliest ticks. It keeps the latest tick that it has dropped: up to
// the latest of all nodes a note is not believed, as a run of its tick may be gone.
//
// # Roster
//
// Heartbeats and the definitions of jobs are fields of two hashes per node.
// Nodes judge by their own clocks whether a heartbeat is recent, so clocks of
// replicas that run apart do no harm. What a set of jobs consists of has a key of
// its own, which expires a day after the last word of a replica that serves it.
package redisledger
