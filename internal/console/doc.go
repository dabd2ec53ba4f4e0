// Package console serves the API (package api) and the dashboard (package pages) over HTTP, to
// users that package gate admits. A [Server] is an http.Handler. A replica serves it on
// http.listen; a service may mount it in its own mux under [Options.BasePath].
//
// Imports go one way: web → pages → api → gate → problem.
package console
