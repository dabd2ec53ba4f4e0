package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Sections of the stores.
const (
	SectionRedis     = "redis"
	SectionPostgres  = "postgres"
	SectionEtcd      = "etcd"
	SectionZooKeeper = "zookeeper"
)

// Section is that of the store which keeps everything.
func (c *Config) Section() string {
	switch unset := Default(); {
	case c.Postgres != unset.Postgres:
		return SectionPostgres
	case !reflect.DeepEqual(c.Etcd, unset.Etcd):
		return SectionEtcd
	case !reflect.DeepEqual(c.ZooKeeper, unset.ZooKeeper):
		return SectionZooKeeper
	}
	return SectionRedis
}

// Lacking says what to do with a program that cannot use the store of a section.
func Lacking(section string) string {
	switch section {
	case SectionEtcd:
		return "this program has no etcd client: use quorate-etcd; or pass new(etcd.Store) of package stores/etcd as replica.Config.Store"
	case SectionZooKeeper:
		return "this program has no ZooKeeper client: use quorate-zookeeper; or pass new(zookeeper.Store) of package stores/zookeeper as replica.Config.Store"
	}
	return "this program cannot use PostgreSQL; pass new(postgres.Store) of package stores/postgres as replica.Config.Store, or write a redis section"
}

// Kept says where everything is kept, and what it means if that is one Redis.
func Kept(c *Config) (where, means string) {
	switch r := c.Redis; {
	case c.Section() == SectionPostgres:
		return "PostgreSQL", ""
	case c.Section() == SectionEtcd:
		return "etcd", ""
	case c.Section() == SectionZooKeeper:
		return "ZooKeeper", ""
	case !r.isSingle() && len(r.Nodes) == 1:
		return "1 node", ""
	case !r.isSingle():
		return fmt.Sprintf("%d nodes", len(r.Nodes)), ""
	case r.Durable:
		means = "redis.durable says that a server that takes its place has everything that it acknowledged; if not, a tick may run twice"
	case r.Copies > 0:
		means = fmt.Sprintf("no tick starts and no lease is extended while one of its %d replicas is down; after a failover no tick starts for %v", r.Copies, r.RestartGrace)
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
	switch c.Section() {
	case SectionEtcd:
		return waits{c.Etcd.Timeout, c.Etcd.RestoreGrace, path{"etcd", "timeout"}, path{"etcd", "restore_grace"}, "a cluster that was restored from a backup could grant a tick"}
	case SectionZooKeeper:
		return waits{c.ZooKeeper.Timeout, c.ZooKeeper.RestoreGrace, path{"zookeeper", "timeout"}, path{"zookeeper", "restore_grace"}, "an ensemble that was restored from a backup could grant a tick"}
	case SectionPostgres:
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

// checkStore makes sure that there is one store, and that it can be reached.
func checkStore(c *Config, ps *problems) {
	section, other := c.Section(), ""
	switch {
	case len(c.Redis.urls()) > 0:
		other = "a redis"
	case section != SectionEtcd && !reflect.DeepEqual(c.Etcd, Default().Etcd):
		other = "an etcd"
	case section != SectionZooKeeper && !reflect.DeepEqual(c.ZooKeeper, Default().ZooKeeper):
		other = "a zookeeper"
	}
	if section != SectionRedis && other != "" {
		ps.at(path{section}, "there is %s section, too; everything is kept in one store, so remove one of the two sections", other)
	}
	switch section {
	case SectionEtcd:
		c.Etcd.check(ps)
	case SectionZooKeeper:
		c.ZooKeeper.check(ps)
	case SectionPostgres:
		checkPostgres(c, ps)
	default:
		c.Redis.checkNodes(ps)
		urls := c.Redis.urls()
		c.Redis.TLS.check(ps, path{SectionRedis, "tls"}, len(urls) > 0 && !slices.ContainsFunc(urls, mayUseTLS), "no URL uses TLS; write rediss:// URLs, or remove the section")
	}
}

func mayUseTLS(url string) bool {
	return !strings.HasPrefix(url, "redis://") && !strings.HasPrefix(url, "valkey://")
}

// check reports files that do not go together, and a section that nothing uses.
func (t TLSConfig) check(ps *problems, p path, unused bool, remedy string) {
	if t == (TLSConfig{}) {
		return
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		ps.at(p, "cert_file and key_file go together; set both or neither")
	}
	if unused {
		ps.at(p, "%s", remedy)
	}
}

// checkPostgres makes sure that its URL is one.
func checkPostgres(c *Config, ps *problems) {
	at := path{"postgres", "url"}
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
