// Package client calls single Redis nodes. Each node has one connection pool and one
// deadline, calls may share requests, and the package tracks which nodes answer. It
// does not know what nodes store; package membership does.
//
// # Nodes that are down
//
// A call that times out or loses its connection marks the node down. Then [Link.Admit]
// refuses calls with ErrDown, so a frozen node costs one timeout only once.
//
// The timeout starts when a request is sent, since a wait in this process says nothing
// about the node. Some timeouts do not mark the node down, although the call has failed
// and may have taken effect:
//
//   - The node answered other requests meanwhile.
//   - This process was so busy that it noticed the timeout much too late.
//
// # Calls that share a request
//
// Many short calls come at once, since every replica has the same jobs due in the same
// second. Calls of one rule that a [Fan] starts at one node can share a request, which
// runs the common checks once and the rule for each call:
//
//	call a ──────────► EVALSHA one  a
//	call b ──────────► EVALSHA one  b          two in flight: the others wait
//	call c, d, e, f … ──────────► EVALSHA many c d e f …, as soon as one returns
//
// So a single call never waits, and the busier a node is, the less each call costs it.
// The node runs dozens of calls in a row, so such a rule must be quick. Calls do not
// wait behind a request that got no answer.
//
// go-redis has an AutoPipeliner for the same purpose. It sends many EVALSHA in one
// round trip, and each checks the node again. With 256 callers on two cores it made a
// third of the calls. Its calls to a frozen server also outlive their deadlines.
//
// # Logging of go-redis
//
// go-redis prints failed dials to standard error through a global logger. This package
// leaves that logger alone. Its dialer returns a connection whose first write fails,
// which go-redis only reports as an error.
package client
