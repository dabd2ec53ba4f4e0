// Package config is config.yaml: its keys and defaults, how it is read, and what is
// wrong with it. Package replica and the commands work with what it returns.
//
// A configuration is layered by koanf: the file, then environment variables
// that start with QUORATE__, then --set (see Source), then what the program says
// itself. It is decoded strictly: a key this release does not know is an error, so no
// setting is ever silently ignored. Read reports all mistakes at once as an *Error, each
// in one line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// Any string may hold ${env:NAME} and ${file:/path}. In redis.username,
// redis.password, the URLs of nodes and the params of jobs these are resolved
// when they are used, so a configuration can be checked where its secrets are
// not; elsewhere when the configuration is read. A Config keeps the reference,
// never what it stands for.
package config
