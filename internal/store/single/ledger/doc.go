// Package ledger keeps the ledger, the roster and the sets of jobs on a consistent store.
//
// # Ledger
//
// Claims write the entries of runs. This package adds those of ticks that did not run, and
// reads both. A listing reads the entries together with the claims and leases of their job,
// all from one moment, so it is certain of every run:
//
//	an end                       → how the run ended, in its own words
//	a start, and a lease counts  → running
//	a start alone                → interrupted: the lease expired without an end
//
// Each entry is a record. Records of a job are read from the newest tick on, in pages, so
// the cost of a listing depends on its limits and not on what is stored.
//
// A job's past is one small record: what its logs amount to, and the latest tick with a
// dropped entry. Entries are counted by reading them all, so that is done once for about a
// tenth of the number to keep. Until then a job has up to a tenth more, for each replica
// that adds some. Small numbers are exact.
//
// # Roster
//
// A heartbeat lists the replicas, and then writes the replica's record with the time of the
// store's clock in the answer. So clocks of replicas do no harm, and a heartbeat costs two
// calls.
package ledger
