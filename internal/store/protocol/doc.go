// Package protocol is the claim protocol at one node, for one job: a [State] and one pure
// function per rule. A function takes the state, the clock and limits of its [Node],
// and a request. It returns the new state and the [Answer]. It reads no clock, draws no
// random value, and knows no store.
//
// The functions have three users: the simulation's nodes, the differential test of the
// Lua scripts, and stores with compare-and-swap, which load a state, apply a rule and
// write the state back.
//
// The names and numbers are those of locking/redlock/PROTOCOL.md: [Lock] is N2,
// [Commit] N3, [Extend] N4, [Finish] N5, [Void] and [Evict] N6, [Forget] N8 and [Look]
// N10. Locks of single ticks, for runs that may overlap, are N9. Change the Promela
// model first, then this package.
//
// Times are milliseconds since the Unix epoch.
package protocol
