// Package replica is one replica ready to run: it reads config.yaml and wires
// nodes, locker, ledger and scheduler together. It is what a service embeds,
// and what the quorate command is made of.
//
//	registry := jobs.NewRegistry()
//	jobs.Register(registry, "report", report)
//	r, err := replica.Load("config.yaml", registry)
//	…
//	err = r.Run(ctx) // blocks; drains when ctx ends
//
// # Configuration
//
// A configuration is layered by koanf: the file, then environment variables
// that start with QUORATE__, then --set (see Source). It is decoded strictly:
// a key this release does not know is an error, so no setting is ever silently
// ignored. Read reports all mistakes at once as a *ConfigError, each in one
// line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// Any string may hold ${env:NAME} and ${file:/path}. In redis.username,
// redis.password, the URLs of nodes and the params of jobs these are resolved
// when they are used, so a configuration can be checked where its secrets are
// not; elsewhere when the configuration is read. A Config keeps the reference,
// never what it stands for.
//
// # Running
//
// Run joins the nodes, trying until a quorum of them answers, and says in words
// what it waits for. A refusal of the nodes, which no waiting can mend, ends it.
// /healthz, /readyz and /metrics, on http.probes_listen or else on http.listen, serve
// from the very start.
// With redis.cells that holds for each cell: the replica begins when one has been
// joined, and goes on joining the others. When the context ends the replica drains as package scheduler describes.
package replica
