// Command scale tells what a cluster costs that no test machine can hold, by a
// formula and by a simulation of the claim protocol, side by side.
//
// The simulation is of messages: every replica has the rank, the stagger, the
// queue of claims and the batches of the real one; every node serves one batch
// after the other, at the cost per command and per call that was measured; every
// message takes its time on the network. Nothing of a run but its length is
// simulated. What it leaves out: loss of messages, restarts, clocks, retries
// because of overlap; package dev/sim has those, at the size of a
// handful of replicas and with the real engine.
//
//	go run ./scale                                   the table of docs/scale.md
//	go run ./scale -one -replicas 50 -jobs 10000
package main
