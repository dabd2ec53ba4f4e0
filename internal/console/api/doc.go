// Package api is the REST API under /api/v1. One table of routes serves requests and
// generates the OpenAPI 3.1 document. Event streams follow the cluster and single runs.
//
// The dashboard uses the same routes, through [API.Read] and [API.Action]. The cost of an
// answer is bounded, however long the history is. One poller reads the events for all
// streams, and only while there are any.
package api
