// Package nodetest is one node in plain Go, without server, goroutine or clock. Call
// takes the request that a client sends to a script, and returns what the script would
// reply. Import it only in tests.
//
// Package protocol decides about claims: this package parses a request, applies the rule
// and encodes the answer. It also implements what rules does not cover: lists of
// members, what a node remembers, records of ticks that did not run, logs and rosters.
//
// Tests run the same random operations here, on a real server and on an embedded one.
// They compare every reply and all stored data, so a rule's script cannot deviate from
// its Go text unnoticed. The simulation of whole clusters uses this package for its
// nodes.
//
// The note of a claim is its packed form, as nodes store it. A request about a job
// whose argument is no number fails before it writes. Other scripts that fail half-way
// keep what they wrote before; so does Call.
package nodetest
