// Package webhook posts scheduler events to an HTTP endpoint. A [Sink] observes a scheduler
// and posts a [Message] for each selected event.
//
// # Delivery
//
// Messages wait in a bounded queue, so no run waits for an endpoint. The sink posts one
// at a time. Status 2xx accepts a message. After 408, 429, 5xx or no answer the sink
// retries with growing pauses. Any other status loses the message, and so
// does a reference that cannot be resolved, or a URL or header that cannot be used. Too many
// tries or a full queue lose it, too. Each loss is counted and logged. The first failure of
// several is logged at once. At the end of a drain the sink tries each waiting message once
// more, within Config.Flush.
//
// A message arrives at least once; repetitions have the same ID. If no replica runs a
// tick, the replica whose record the ledger keeps posts the message, 5 s after the tick's
// window. While the ledger cannot be read, that message waits. Nothing is posted of events while
// no replica runs.
//
// # Secrets
//
// URL, headers and secret may contain references, which are resolved for each try. Log
// lines contain neither their values nor the URL's path, query and password.
//
// # Signatures
//
// With Config.Secret each request carries a [SignatureHeader]. Receivers check it as they
// check a Stripe signature.
package webhook
