// Package httpfence sends fencing tokens over HTTP and checks them.
//
// The writer's client sends the token in the request's context, and reports a refusal:
//
//	client := &http.Client{Transport: httpfence.Transport{}}
//	ctx = httpfence.WithBearer(ctx, run)
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
//
// The sink refuses stale tokens with status 412 and a problem+json body that names both
// tokens:
//
//	guard := httpfence.Middleware{Guard: fence.NewMemory()}
//	http.Handle("/orders", guard.Wrap(orders))
//	http.Handle("/refunds", guard.Wrap(refunds))
//
// The built-in job "http" is such a writer. Writers in other languages send the headers
// Fencing-Token and Fencing-Resource, the latter percent-encoded.
//
// # What is one step and what is not
//
// Within one process, check and handler are one step: the Middleware handles requests
// for a resource one at a time. Wrap all routes with one Middleware; do not make one
// for each. A handler that hangs, for example on a frozen client's body, blocks the
// next ones: set http.Server.ReadTimeout.
//
// Several sink processes each have their own order, even if they share a Guard such as
// sqlfence or redisfence. A newer request at one process may overtake a request that
// another process has admitted. There the handler must check inside its write:
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
// A guard in memory forgets its tokens when the process ends. After a restart of the
// sink, a stale writer is admitted until the next holder has written again.
//
// The token is no credential. Any writer can claim any token, and a large one blocks
// the resource for the others. Authenticate writers as usual.
package httpfence
