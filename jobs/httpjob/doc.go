// Package httpjob is the built-in job "http": one HTTP request per run.
//
//	jobs:
//	  nightly:
//	    func: http
//	    schedule: "0 2 * * *"
//	    params:
//	      method: POST                       # default
//	      url: https://reports.example.com/runs
//	      headers: {Authorization: "Bearer ${env:REPORTS_TOKEN}"}
//	      body: '{"customer": "all"}'
//	      expect_status: [2xx, 409]          # default 2xx
//
// The run succeeds when the answer has an expected status. Otherwise the error has the
// status and the beginning of the body. The request ends with the context of the run; the
// job's timeout is the only timeout.
//
// # What the server receives
//
// The request has the headers Quorate-Job, Quorate-Tick, Quorate-Attempt, Fencing-Token,
// Fencing-Resource (the job) and Idempotency-Key.
//
// The Idempotency-Key is the id of the run, the same for every try and attempt of a tick:
// a server that remembers it does the work once. A server that remembers the largest
// Fencing-Token of a resource, and refuses smaller ones, is safe from a replica that was
// paused too long. Package httpfence is such a guard. Its refusal, a 412 with a
// problem+json body, fails the run whatever expect_status says, and the ledger counts it.
//
// # Limits
//
// Redirects are not followed; a 3xx is an answer like any other. Following one could turn a
// POST into a GET, and send the token to another server. Each request uses its own
// connection, so no request is repeated silently after a broken connection. The replica's
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply. Errors and logs show a URL without its
// password and query.
package httpjob
