// Package difftest runs the same operations on the plain model of a node, a real server
// and an embedded one. It compares every answer, and all stored data afterwards. Import
// it only in tests.
//
// All use a virtual clock: scripts read a key instead of calling TIME, and expiries are
// moved along with the clock. So a sequence of operations has one outcome, however slow
// the machine. Only the time left of a key is compared roughly; the tests use leases of
// days.
package difftest
