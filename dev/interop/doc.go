// Package interop holds the test that foreign Redlock clients and this one
// exclude each other on the same key of the same nodes. It is a module of its
// own, so that nobody who uses Quorate depends on those clients.
//
// The foreign clients are the npm package redlock, releases 5 and 4, and
// redsync in plain use. To use one beside Quorate give it the key
//
//	{<namespace>}:job:<name>:lock
//
// and the same nodes. It shares the lock and nothing else: it has no fencing
// token, and knows nothing of ticks.
package interop
