// Package fencetest checks sinks that refuse stale writers: those of the packages
// beside it, and yours. A sink's test is one call:
//
//	func TestSink(t *testing.T) {
//		fencetest.Run(t, func(t testing.TB) fencetest.Sink { return newSink(t) })
//	}
//
// Import it only in tests.
package fencetest
