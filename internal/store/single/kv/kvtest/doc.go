// Package kvtest checks implementations of [kv.Store], and has one in memory whose
// calls can be made to fail.
package kvtest
