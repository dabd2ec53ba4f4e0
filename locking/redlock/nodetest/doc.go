// Package nodetest is the state of one node and the rules that change it, in
// plain Go: no server, no goroutine, no clock of its own. Call takes what a
// client sends for a script and answers what the script would have answered.
// Only tests import it.
//
// It is written from the protocol, not from the Lua, and says each rule once
// more in another language. A test of package redlock runs the same random
// operations here, on a real server and on an embedded one, and compares every
// reply and all that is stored: so a rule that means one thing in its text and
// another on the node does not stay unseen. The simulation of whole clusters
// uses it as its nodes.
//
// Numbers are float64 because Lua's are, and what is stored is kept as the text
// that was stored. Scripts that fail half-way keep what they wrote before; so
// does Call.
package nodetest
