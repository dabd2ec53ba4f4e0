package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// OnPostgres reports whether everything is kept in PostgreSQL, and not on Redis nodes.
func (c *Config) OnPostgres() bool { return c.Postgres != Default().Postgres }

// Kept says where everything is kept, and what it means if that is one Redis.
func Kept(c *Config) (where, means string) {
	switch r := c.Redis; {
	case c.OnPostgres():
		return "PostgreSQL", ""
	case !r.isSingle() && len(r.Nodes) == 1:
		return "1 node", ""
	case !r.isSingle():
		return fmt.Sprintf("%d nodes", len(r.Nodes)), ""
	case r.Durable:
		means = "redis.durable says that a server that takes its place has everything that it acknowledged; if not, a tick may run twice"
	case r.Copies > 0:
		means = fmt.Sprintf("a claim counts when all %d replicas have it; after a failover no tick starts for %v", r.Copies, r.RestartGrace)
	default:
		means = fmt.Sprintf("after a failover no tick starts for %v; a tick may run twice if the old server still runs then, unless redis.copies counts the replicas", r.RestartGrace)
	}
	return "one Redis", "no tick starts while it is down; " + means
}

// waits are the durations of a store, and where they are written.
type waits struct {
	timeout, grace     time.Duration
	timeoutAt, graceAt path
	forgets            string // how it forgets, in words
}

func (w waits) timeoutKey() string { return strings.Join(w.timeoutAt, ".") }

// store returns the durations of the store that is configured.
func (c *Config) store() waits {
	if c.OnPostgres() {
		return waits{c.Postgres.Timeout, c.Postgres.FailoverGrace, path{"postgres", "timeout"}, path{"postgres", "failover_grace"}, "a standby that took over could grant a tick"}
	}
	return waits{c.Redis.NodeTimeout, c.Redis.RestartGrace, path{"redis", "node_timeout"}, path{"redis", "restart_grace"}, "a node that lost its memory could vote"}
}

// check makes sure that nothing is claimed anew while a lease that was forgotten lasts.
func (w waits) check(ps *problems, ttl time.Duration) {
	at := path{"lock", "ttl"}
	positive := ps.positive(at, ttl)
	positive = ps.positive(w.graceAt, w.grace) && positive
	positive = ps.positive(w.timeoutAt, w.timeout) && positive
	if !positive {
		return
	}
	if key := strings.Join(w.graceAt, "."); ttl >= w.grace {
		ps.at(at, "%v is not below %s (%v), so %s while a lease it forgot lasts; lower it, or raise %s", ttl, key, w.grace, w.forgets, key)
	}
	if w.timeout >= ttl/4 {
		ps.at(w.timeoutAt, "%v is not below a quarter of lock.ttl (%v); lower it, or raise lock.ttl", w.timeout, ttl/4)
	}
}

// checkPostgres makes sure that there is one store, and that its URL is one.
func (c *Config) checkPostgres(ps *problems) {
	at := path{"postgres", "url"}
	if len(c.Redis.urls()) > 0 {
		ps.at(path{"postgres"}, "there is a redis section, too; everything is kept in one store, so remove one of the two sections")
	}
	text := c.Postgres.URL
	if hasReference(text) {
		var err error
		if text, err = Expand(text); err != nil {
			return // a secret of another machine: seen when it is used
		}
	}
	if text == "" && ps.has(at) {
		return
	}
	// The error of url.Parse quotes the URL, which may hold a password. A second @ is one of the
	// password: the driver would take what is behind the first for the host.
	u, err := url.Parse(text)
	if err != nil || strings.Count(text, "@") > 1 || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		ps.at(at, "is no URL of a database; write one such as postgres://user@10.0.0.1:5432/app, with %%40 for @ and %%2F for / in its password")
	}
}
