package config

import (
	"fmt"
	"reflect"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/replica/settings"
)

// Sections of the stores.
const (
	SectionRedis     = "redis"
	SectionPostgres  = "postgres"
	SectionMySQL     = "mysql"
	SectionSQLite    = "sqlite"
	SectionEtcd      = "etcd"
	SectionZooKeeper = "zookeeper"
)

// A store is one of those that can keep everything, with its settings.
type store struct {
	section, name string          // as in the file, and as people call it
	elsewhere     bool            // the program quorate-SECTION has it, and quorate does not
	mostHistory   int             // how many bytes of history it bears for all jobs together; 0: any
	check         func(*problems) // reports the mistakes of the section
	waits
	login
}

// waits are the durations of a store, and the keys that set them.
type waits struct {
	timeout, grace       time.Duration
	timeoutKey, graceKey string
}

// forgets says how a store forgets, by the key of its grace.
var forgets = map[string]string{
	"restart_grace":  "a node that lost its memory could vote",
	"failover_grace": "a standby that took over could grant a tick",
	"restore_grace":  "a store that was restored from a backup could grant a tick",
}

// login is what a connection to a store begins with, with references and names of files. Redis
// nodes have theirs from redisNodes.
type login struct {
	url, username, password settings.Secret
	tls                     settings.TLS
}

// stores returns all of them. etcd and ZooKeeper keep everything in memory, etcd by default at most
// 2 GiB with what it has not yet compacted: docs/etcd.md and docs/zookeeper.md have the measurements.
func (c *Config) stores() []store {
	r, p, m, s, e, z := c.Redis, c.Postgres, c.MySQL, c.SQLite, c.Etcd, c.ZooKeeper
	return []store{
		{
			section: SectionRedis, name: "Redis", check: func(ps *problems) { ps.checkRedis(r) },
			waits: waits{r.NodeTimeout, r.RestartGrace, "node_timeout", "restart_grace"},
		},
		{
			section: SectionPostgres, name: "PostgreSQL", check: func(ps *problems) { ps.checkPostgres(p) },
			waits: waits{p.Timeout, p.FailoverGrace, "timeout", "failover_grace"}, login: login{url: p.URL},
		},
		{
			section: SectionMySQL, name: "MySQL", elsewhere: true, check: func(ps *problems) { ps.checkMySQL(m, c.Namespace) },
			waits: waits{m.Timeout, m.FailoverGrace, "timeout", "failover_grace"}, login: login{url: m.URL, tls: m.TLS},
		},
		{
			section: SectionSQLite, name: "SQLite", elsewhere: true, check: func(ps *problems) { ps.checkSQLite(s) },
			waits: waits{s.Timeout, s.RestoreGrace, "timeout", "restore_grace"},
		},
		{
			section: SectionEtcd, name: "etcd", elsewhere: true, mostHistory: 1 << 30, check: func(ps *problems) { ps.checkEtcd(e) },
			waits: waits{e.Timeout, e.RestoreGrace, "timeout", "restore_grace"}, login: login{"", e.Username, e.Password, e.TLS},
		},
		{
			section: SectionZooKeeper, name: "ZooKeeper", elsewhere: true, mostHistory: 256 << 20, check: func(ps *problems) { ps.checkZooKeeper(z) },
			waits: waits{z.Timeout, z.RestoreGrace, "timeout", "restore_grace"}, login: login{"", z.Username, z.Password, z.TLS},
		},
	}
}

// written returns the stores with a section in which anything is set.
func (c *Config) written() (list []store) {
	own, unset := reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()
	for _, s := range c.stores() {
		for _, f := range decode.Fields(own.Type()) {
			if f.Name == s.section && !reflect.DeepEqual(own.FieldByIndex(f.Index).Interface(), unset.FieldByIndex(f.Index).Interface()) {
				list = append(list, s)
			}
		}
	}
	return list
}

// store returns the store that keeps everything: Redis only if no other section is written. Without
// any section that is a list of Redis nodes, which is then reported to be empty.
func (c *Config) store() store {
	all := c.written()
	switch {
	case len(all) == 0:
		return c.stores()[0]
	case len(all) > 1 && all[0].section == SectionRedis:
		return all[1]
	}
	return all[0]
}

// otherSections are those of all stores but Redis.
func otherSections() (list []string) {
	for _, s := range Default().stores()[1:] {
		list = append(list, s.section)
	}
	return list
}

// storeOf returns the store of a section.
func (c *Config) storeOf(section string) store {
	for _, s := range c.stores() {
		if s.section == section {
			return s
		}
	}
	return store{}
}

// Section is that of the store which keeps everything.
func (c *Config) Section() string { return c.store().section }

// Lacking says what to do with a program that cannot use the store of a section.
func Lacking(section string) string {
	store := Default().storeOf(section)
	use := "use quorate"
	if store.elsewhere {
		use += "-" + section
	}
	return fmt.Sprintf("this program cannot use %[1]s: %[2]s; or pass new(%[3]s.Store) of package stores/%[3]s as replica.Config.Store", store.name, use, section)
}

// Kept says where everything is kept, and what it means if that is one Redis.
func Kept(c *Config) (where, means string) {
	switch r, s := c.Redis, c.store(); {
	case s.section != SectionRedis:
		return s.name, ""
	case !isSingle(r) && len(r.Nodes) == 1:
		return "1 node", ""
	case !isSingle(r):
		return fmt.Sprintf("%d nodes", len(r.Nodes)), ""
	case deref(r.Durable):
		means = "redis.durable says that a server that takes its place has everything that it acknowledged; if not, a tick may run twice"
	case deref(r.Copies) > 0:
		means = fmt.Sprintf("no tick starts and no lease is extended while one of its %d replicas is down; after a failover no tick starts for %v", deref(r.Copies), r.RestartGrace)
	default:
		means = fmt.Sprintf("after a failover no tick starts for %v; a tick may run twice if the old server still runs then, unless redis.copies counts the replicas", r.RestartGrace)
	}
	return "one Redis", "no tick starts while it is down; " + means
}

// checkWaits makes sure that nothing is claimed anew while a lease that was forgotten lasts.
func (s store) checkWaits(ps *problems, ttl time.Duration) {
	if ttl <= 0 || s.grace <= 0 || s.timeout <= 0 {
		return // reported
	}
	if key := s.key(s.graceKey); ttl >= s.grace {
		ps.at(path{"lock", "ttl"}, "%v is not below %s (%v), so %s while a lease it forgot lasts; lower it, or raise %s", ttl, key, s.grace, forgets[s.graceKey], key)
	}
	if s.timeout >= ttl/4 {
		ps.at(path{s.section, s.timeoutKey}, "%v is not below a quarter of lock.ttl (%v); lower it, or raise lock.ttl", s.timeout, ttl/4)
	}
}

// key returns a key of the section, as messages have it.
func (s store) key(name string) string { return s.section + "." + name }

// checkStore makes sure that there is one store, and that it can be reached in time.
func (c *Config) checkStore(ps *problems) {
	s := c.store()
	for _, other := range c.written() {
		if other.section != s.section {
			ps.at(path{s.section}, "the section %s is set, too; everything is kept in one store, so remove one of the two", other.section)
			break
		}
	}
	s.check(ps)
	s.checkWaits(ps, c.Lock.TTL)
}
