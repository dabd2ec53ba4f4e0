// Package traces makes OpenTelemetry spans of what a replica runs. It knows the
// API only: where spans go, and which are kept, says the TracerProvider of the
// program that embeds the replica.
//
//	tick nightly-report            from the first message of the claim to the end of its record
//	├── claim                      the nodes are asked
//	├── run                        one per call of the function; its context carries this span
//	│   └── … spans of the function
//	└── finish                     the end is recorded, the lease given back
//
// On the span of the tick are events for each try to extend the lease, for its loss, for
// writes refused as stale, and for tries that are repeated. A tick that does not run
// is a span without length, at each replica that decided so.
//
// Attributes are those of the constants below. Spans of runs that did not succeed
// have status Error, with the error of the function, which hides what is secret
// in params, in the status.
package traces
