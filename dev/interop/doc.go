// Package interop holds the tests that foreign programs and this one understand
// each other: Redlock clients exclude each other on the same key of the same
// nodes, and the library of Standard Webhooks accepts our messages. It is a module of
// its own, so that nobody who uses Quorate depends on those programs.
//
// The foreign clients are the npm package redlock, releases 5 and 4, and
// redsync in plain use. To use one beside Quorate give it the key
//
//	{<namespace>}:job:<name>:lock
//
// and the same nodes. It shares the lock and nothing else: it has no fencing
// token, and knows nothing of ticks.
package interop
