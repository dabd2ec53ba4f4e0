// Package locktest holds the conformance kit that every [locking.Locker] must
// pass, and [Memory], a Locker inside one process that passes it.
//
// A backend shows that it keeps the contract with one test:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Backend{New: connect, Short: 500 * time.Millisecond})
//	}
//
// [Stress] presses it harder: many contenders, one lock, and a counter that
// shows every lost update.
//
// The kit sees only the interface. It never concludes anything from how long
// something took: where a lease must run out, it asks again until it has, a
// bounded number of times.
package locktest
