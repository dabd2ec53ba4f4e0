// Package webhook tells an HTTP endpoint what becomes of ticks and runs: a
// [Sink] is a [scheduler.Observer] that posts a [Message] for each event it was
// asked for.
//
// # Delivery
//
// Messages wait in a bounded queue, so that no run ever waits for an endpoint,
// and are posted one after the other. An answer of 2xx takes a message; 408, 429,
// 5xx and no answer at all are tried again after growing pauses; every other
// answer, too many tries and a full queue lose it, which is counted and logged.
// At the end of a drain what waits is tried once more, within Config.Flush.
//
// A message comes at least once: its ID is that of the event, so that a receiver
// can tell one that comes twice. What several replicas notice, a tick that none
// of them runs, is told by the one whose record the ledger keeps. Where there is
// no quorum to agree on that, each tells it at once, under the same ID. What
// happens while no replica runs is not told.
//
// # Secrets
//
// URL, headers and secret may hold references, which are resolved for each try. What
// they resolve to, and the URL's path, query and password, stand in no log line.
//
// # Signatures
//
// With Config.Secret each try carries a [SignatureHeader], which receivers check with
// [Verify], or as they check those of Stripe.
package webhook
