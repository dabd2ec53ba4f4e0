// Package locktest holds the conformance kit that every [locking.Locker] must pass, and
// [Memory], a Locker inside one process.
//
// A backend's test is one call:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Backend{New: connect, Short: 500 * time.Millisecond})
//	}
//
// [Stress] adds load: many contenders compete for one lock, and a counter shows every
// lost update.
//
// The kit uses only the interface and draws no conclusions from durations. Where a
// lease must expire, it retries a bounded number of times.
package locktest
