// Package difftest runs the same operations on the plain model of a node and on
// servers, a real one and an embedded one, and compares every answer and all
// that is stored after it. Only tests import it.
//
// The clock of all of them is virtual: scripts run with the call of TIME replaced
// by a look at a key, and what runs out is moved along when the clock is. So a
// sequence of operations has one outcome, however slow the machine, except for
// the time left of a key, which is compared roughly; the tests use leases of days.
package difftest
