// Package dashboard serves the API and the pages of a replica. A program that links it
// passes a [Server], which serves what the http section of config.yaml asks for:
//
//	replica.Config{Dashboard: new(dashboard.Server)}
//
// or mounts the same beside its own pages: see [Mount].
package dashboard
