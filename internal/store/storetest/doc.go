// Package storetest checks implementations of [store.Store], and has one in memory whose
// calls can be made to fail.
package storetest
