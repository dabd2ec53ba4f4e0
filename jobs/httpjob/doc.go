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
// The request carries Quorate-Job, Quorate-Tick, Quorate-Attempt,
// Fencing-Token, Fencing-Resource (the job) and Idempotency-Key. The key is the
// id of the run, the same for every try and attempt of a tick: a server that
// remembers it does the work once. A server that remembers the largest
// Fencing-Token of a resource and refuses smaller ones is safe from a replica
// that was paused too long; package httpfence is such a guard. Its refusal, a
// 412 with a problem+json body, fails the run whatever expect_status says, and
// is counted in the ledger.
//
// The run succeeds when the answer has an expected status. Otherwise the error
// has the status and the beginning of the answer's body. The request ends with
// the context of the run. It has no timeout of its own: that is the job's.
//
// Redirects are not followed, a 3xx is an answer like any other: following one
// could turn a POST into a GET, and would send the token of this job's work to
// wherever the answer says. Each request uses its own connection, so that none
// is silently sent again on another after a kept one broke. The variables
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the replica are honoured.
//
// Errors and logs show a URL without its password and query.
package httpjob
