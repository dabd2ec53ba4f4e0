// Package replica is one replica ready to run: what a service embeds, and what the
// quorate command is made of. It connects nodes, locker, ledger and scheduler.
//
//	r, err := replica.New(replica.Config{
//		Redis: replica.Redis{Nodes: []string{"redis://10.0.0.1:6379", …}},
//		Jobs:  []replica.Job{{Name: "report", Schedule: "0 2 * * *", Func: report}},
//	})
//	…
//	err = r.Run(ctx) // blocks; drains when ctx ends
//
// Jobs and settings may also stand in config.yaml, which names functions of a registry:
//
//	registry := jobs.NewRegistry()
//	jobs.Register(registry, "report", report)
//	cfg, err := replica.Read("config.yaml", registry)
//	cfg.Metrics, cfg.Dashboard = new(metrics.Metrics), new(dashboard.Server)
//	r, err := replica.New(cfg)
//
// Both end in one Config: the program's settings override the file, and its Jobs run beside
// those of the file. A program links metrics, traces and the dashboard only if it passes
// them.
//
// # Configuration
//
// A file is read strictly: a key this release does not know is an error, so no setting is
// silently ignored. New and Read report all mistakes at once as a *ConfigError, each in
// one line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// Environment variables that start with QUORATE__ go before the file. Any string of it
// may hold ${env:NAME} and ${file:/path}. In redis.username, redis.password, the URLs of
// nodes and the params of jobs these are resolved when they are used, so a file can be
// checked where its secrets are not.
//
// # Running
//
// Run joins the nodes, trying until a quorum of them answers, and says in words
// what it waits for. A refusal of the nodes, which no waiting can mend, ends it.
// /healthz, /readyz and /metrics, on http.probes_listen or else on http.listen, serve
// from the very start. When the context ends the replica drains as package scheduler
// describes.
package replica
