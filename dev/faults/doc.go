// Package faults holds the campaigns that hurt real processes: five
// redis-servers and their clients, killed, frozen, cut off, out of memory,
// restarted with and without what they knew. Everything is in its tests:
//
//	TestMatrix       11 faults × 0 to 3 of five nodes × acquire, extend, release
//	TestHolderPauses a process that is frozen while it holds the lock
//	TestRestarts     nodes that restart at each point of a claim
//	TestPartitions   replicas that see different nodes, over slow links
//	TestTokens       tokens of clients that interleave while nodes forget
//	TestCost         what dead nodes cost in time
//
// What must come of each case stands in a table in the test. `go test` runs a
// sample of each campaign, chosen at random by a seed that it prints; -seed runs
// that sample again. With QUORATE_CAMPAIGN=full they run whole, and -page writes
// what was seen into docs/faults.md.
//
// No case is judged by how long something took: a busy machine may lose votes
// and stop the clock for a second. What is judged are promises, which no delay
// may break, and what the errors say.
package faults
