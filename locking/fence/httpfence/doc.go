// Package httpfence carries fencing tokens over HTTP.
//
// The writer's client sends the token that is in the request's context, and
// reports a refusal:
//
//	client := &http.Client{Transport: httpfence.Transport{}}
//	ctx = httpfence.WithBearer(ctx, run)
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
//
// The sink refuses stale ones with status 412 and a problem+json body that
// names both tokens:
//
//	guard := httpfence.Middleware{Guard: fence.NewMemory()}
//	http.Handle("/orders", guard.Wrap(orders))
//	http.Handle("/refunds", guard.Wrap(refunds))
//
// The built-in job "http" is such a writer. A writer in another language sends
// the headers Fencing-Token and Fencing-Resource, the latter percent-encoded.
//
// # What is one step and what is not
//
// Within one process, check and handler are: requests for a resource are
// handled one at a time, so none is checked while another writes. That holds for all
// routes that one Middleware wraps: do not make one for each. A handler that
// hangs, as on the body of a frozen client, keeps the next ones waiting: set
// http.Server.ReadTimeout. With several sink processes each has its own order,
// and a Guard that they share (sqlfence, redisfence) does not change that: a
// request admitted by one process may be overtaken by a newer one at another.
// There the handler must check inside its write:
//
//	reader := httpfence.Middleware{} // no Guard: it only reads the token
//	http.Handle("/orders", reader.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		bearer, _ := httpfence.BearerFrom(r.Context())
//		err := sqlfence.Do(r.Context(), db, bearer, write)
//		if httpfence.Refuse(w, err) {
//			return
//		}
//		…
//	})))
//
// What a guard in memory has seen ends with its process: after a restart of the
// sink a stale writer is admitted until the next holder has written again.
//
// The token is no credential. Whoever may write may claim any token; a large one
// closes the resource for the others. Authenticate writers as ever.
package httpfence
