// Package records is the stored form of what claims and the ledger keep on a consistent
// store, and where they keep it. Package claims writes claims, leases and the entries of
// runs; package ledger reads them, and writes the entries of ticks that did not run.
//
// Times are milliseconds since the Unix epoch. Those of leases are by the store's clock.
package records
