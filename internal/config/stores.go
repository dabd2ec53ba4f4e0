package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/replica/settings"
)

// Sections of the stores.
const (
	SectionRedis     = "redis"
	SectionPostgres  = "postgres"
	SectionEtcd      = "etcd"
	SectionZooKeeper = "zookeeper"
)

// A store is one of those that can keep everything, with its settings.
type store struct {
	section, name string // as in the file, and as people call it
	another       string // what to call the section if there is another one
	written       bool   // some of the section is set
	mostHistory   int    // how many bytes of history it bears for all jobs together; 0: any
	waits
}

// waits are the durations of a store, and the keys that set them.
type waits struct {
	timeout, grace       time.Duration
	timeoutKey, graceKey string
	forgets              string // how it forgets, in words
}

// stores returns all of them. etcd and ZooKeeper keep everything in memory, etcd by default at most
// 2 GiB with what it has not yet compacted: docs/etcd.md and docs/zookeeper.md have the measurements.
func (c *Config) stores() []store {
	unset := Default()
	return []store{
		{
			section: SectionRedis, name: "Redis", another: "a redis section", written: !reflect.DeepEqual(c.Redis, unset.Redis),
			waits: waits{c.Redis.NodeTimeout, c.Redis.RestartGrace, "redis.node_timeout", "redis.restart_grace", "a node that lost its memory could vote"},
		},
		{
			section: SectionPostgres, name: "PostgreSQL", another: "a postgres section", written: !reflect.DeepEqual(c.Postgres, unset.Postgres),
			waits: waits{c.Postgres.Timeout, c.Postgres.FailoverGrace, "postgres.timeout", "postgres.failover_grace", "a standby that took over could grant a tick"},
		},
		{
			section: SectionEtcd, name: "etcd", another: "an etcd section", written: !reflect.DeepEqual(c.Etcd, unset.Etcd), mostHistory: 1 << 30,
			waits: waits{c.Etcd.Timeout, c.Etcd.RestoreGrace, "etcd.timeout", "etcd.restore_grace", "a cluster that was restored from a backup could grant a tick"},
		},
		{
			section: SectionZooKeeper, name: "ZooKeeper", another: "a zookeeper section", written: !reflect.DeepEqual(c.ZooKeeper, unset.ZooKeeper), mostHistory: 256 << 20,
			waits: waits{c.ZooKeeper.Timeout, c.ZooKeeper.RestoreGrace, "zookeeper.timeout", "zookeeper.restore_grace", "an ensemble that was restored from a backup could grant a tick"},
		},
	}
}

// store returns the store that keeps everything. Without any section that is a list of Redis nodes,
// which is then reported to be empty.
func (c *Config) store() store {
	all := c.stores()
	for _, s := range all[1:] {
		if s.written {
			return s
		}
	}
	return all[0]
}

// Section is that of the store which keeps everything.
func (c *Config) Section() string { return c.store().section }

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

// check makes sure that nothing is claimed anew while a lease that was forgotten lasts.
func (w waits) check(ps *problems, ttl time.Duration) {
	at := path{"lock", "ttl"}
	if ttl <= 0 || w.grace <= 0 || w.timeout <= 0 {
		return // reported
	}
	if key := w.graceKey; ttl >= w.grace {
		ps.at(at, "%v is not below %s (%v), so %s while a lease it forgot lasts; lower it, or raise %s", ttl, key, w.grace, w.forgets, key)
	}
	if w.timeout >= ttl/4 {
		ps.at(strings.Split(w.timeoutKey, "."), "%v is not below a quarter of lock.ttl (%v); lower it, or raise lock.ttl", w.timeout, ttl/4)
	}
}

// checkStore makes sure that there is one store, and that it can be reached.
func (c *Config) checkStore(ps *problems) {
	section := c.Section()
	for _, other := range c.stores() {
		if other.written && other.section != section {
			ps.at(path{section}, "there is %s, too; everything is kept in one store, so remove one of the two sections", other.another)
			break
		}
	}
	switch section {
	case SectionEtcd:
		ps.checkEtcd(c.Etcd)
	case SectionZooKeeper:
		ps.checkZooKeeper(c.ZooKeeper)
	case SectionPostgres:
		ps.checkPostgres(c.Postgres)
	default:
		ps.checkNodes(c.Redis)
		all := urls(c.Redis)
		ps.checkTLS(path{SectionRedis, "tls"}, c.Redis.TLS, len(all) > 0 && !slices.ContainsFunc(all, mayUseTLS), "no URL uses TLS; write rediss:// URLs, or remove the section")
	}
}

func mayUseTLS(url settings.Secret) bool {
	return !strings.HasPrefix(string(url), "redis://") && !strings.HasPrefix(string(url), "valkey://")
}

// checkTLS reports files that do not go together, and a section that nothing uses.
func (ps *problems) checkTLS(p path, t settings.TLS, unused bool, remedy string) {
	ps.checkTogether(p, "cert_file and key_file", t.CertFile, t.KeyFile)
	if unused && t != (settings.TLS{}) {
		ps.at(p, "%s", remedy)
	}
}

// checkPostgres makes sure that its URL is one.
func (ps *problems) checkPostgres(p settings.Postgres) {
	at := path{"postgres", "url"}
	text, err := refs.Resolve(string(p.URL))
	if err != nil {
		return // a secret of another machine: seen when it is used
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

// checkNodes checks the list of nodes, or the one Redis.
func (ps *problems) checkNodes(r settings.Redis) {
	list := path{"redis", "nodes"}
	if len(r.Nodes) == 0 && ps.has(list) {
		return
	}
	if isSingle(r) {
		ps.checkSingle(r)
		return
	}
	if at := (path{"redis", "copies"}); deref(r.Copies) != 0 && !ps.has(at) {
		ps.at(at, "counts the replicas of one Redis, which redis.url, redis.sentinel or redis.cluster name; independent masters need none, so remove it")
	}
	switch n := len(r.Nodes); {
	case n == 0:
		ps.at(list, "no nodes are listed; write the URLs of 1, 3, 5 or 7 independent Redis masters, such as redis://10.0.0.1:6379; or write redis.url, redis.sentinel or redis.cluster for one Redis, or a postgres, etcd or zookeeper section in place of redis")
	case n%2 == 0:
		ps.at(list, "%d nodes are listed, and an even number survives no more failures than one less; list 1, 3, 5 or 7", n)
	case n > 7:
		ps.at(list, "%d nodes are listed; list 1, 3, 5 or 7", n)
	}
	addrs, names := map[string]path{}, map[string]path{} // of the nodes before
	for _, node := range nodesOf(r) {
		addr, problem := node.addr()
		switch name := cmp.Or(strings.ToLower(node.name), addr); {
		case node.url == "" && ps.has(node.at):
		case node.url == "":
			ps.at(node.at, "has no url; write one such as redis://10.0.0.1:6379")
		case problem != "":
			ps.at(node.at, "%s", problem)
		case addr == "": // it is not known here
		case addrs[addr] != nil:
			ps.at(node.at, "%s is listed twice, first at %s; each node must be a Redis of its own", addr, addrs[addr])
		case names[name] != nil:
			ps.at(node.at, "the name %s is listed twice, first at %s; give each node its own", name, names[name])
		default:
			addrs[addr], names[name] = node.at, node.at
		}
	}
}

// A redisNode is one of the list of nodes, or the one Redis that keeps everything.
type redisNode struct {
	at     path
	name   string // membership.SingleName of the one Redis
	url    settings.Secret
	master string
	seeds  []settings.Secret // in place of a URL: those of Sentinels or of servers of a Redis Cluster
}

func nodesOf(r settings.Redis) (list []redisNode) {
	for i, n := range r.Nodes {
		list = append(list, redisNode{at: path{"redis", "nodes", strconv.Itoa(i)}, name: n.Name, url: n.URL})
	}
	return list
}

// singles returns the one Redis, or what is written in its place. It is more than one where
// the configuration is wrong.
func singles(r settings.Redis) (all []redisNode) {
	add := func(key string, one redisNode) {
		one.at, one.name = path{"redis", key}, membership.SingleName
		all = append(all, one)
	}
	if r.URL != "" {
		add("url", redisNode{url: r.URL})
	}
	if r.Sentinel.Master != "" || r.Sentinel.Addresses != nil {
		add("sentinel", redisNode{master: r.Sentinel.Master, seeds: r.Sentinel.Addresses})
	}
	if r.Cluster.Addresses != nil {
		add("cluster", redisNode{seeds: r.Cluster.Addresses})
	}
	return all
}

// isSingle reports whether one Redis keeps everything, and no list of nodes.
func isSingle(r settings.Redis) bool { return len(singles(r)) > 0 }

// urls returns all URLs of the section.
func urls(r settings.Redis) (all []settings.Secret) {
	for _, n := range slices.Concat(nodesOf(r), singles(r)) {
		if n.at[1] == "nodes" || n.url != "" {
			all = append(all, n.url)
		}
		all = append(all, n.seeds...)
	}
	return all
}

// config returns what the node is opened with. It gives resolve each text and its place.
func (n redisNode) config(resolve func(path, settings.Secret) string) membership.NodeConfig {
	cfg := membership.NodeConfig{Name: n.name, URL: resolve(n.at, n.url), Master: n.master}
	if n.seeds != nil {
		cfg.Seeds = []string{}
	}
	for i, seed := range n.seeds {
		cfg.Seeds = append(cfg.Seeds, resolve(n.at.with("addresses", strconv.Itoa(i)), seed))
	}
	return cfg
}

// addr returns the host:port of a node, or what is wrong with it. It returns neither if a secret is
// of another machine: that is seen when it is used. Package membership is asked about each node
// alone, so the answer has the node's place.
func (n redisNode) addr() (addr, problem string) {
	var missing error
	cfg := n.config(func(_ path, text settings.Secret) string {
		resolved, err := refs.Resolve(string(text))
		missing = errors.Join(missing, err)
		return resolved
	})
	alone := membership.Config{Nodes: []membership.NodeConfig{cfg}}.WithDefaults()
	if err := alone.Validate(); missing != nil {
		return "", ""
	} else if err != nil {
		return "", strings.TrimPrefix(err.Error(), "node 1: ")
	}
	cfg.Name = ""
	unnamed := membership.Config{Nodes: []membership.NodeConfig{cfg}}.WithDefaults()
	return unnamed.Nodes[0].Name, ""
}

// checkSingle makes sure that there is one Redis, and that its addresses are some.
func (ps *problems) checkSingle(r settings.Redis) {
	all := singles(r)
	if len(r.Nodes) > 0 {
		ps.at(all[0].at, "there are redis.nodes, too; everything is kept in one store, so remove one of the two")
	}
	for _, other := range all[1:] {
		ps.at(other.at, "there is %s, too; everything is kept in one Redis, so remove one of the two", strings.Join(all[0].at, "."))
	}
	for _, one := range all {
		if _, problem := one.addr(); one.at[1] == "sentinel" && one.master == "" {
			ps.at(one.at, "has no master; write the name under which the Sentinels watch it, such as mymaster")
		} else if problem != "" {
			ps.at(one.at, "%s", problem)
		}
	}
}

// checkTogether reports that only one of two texts is set, which have these names.
func (ps *problems) checkTogether(p path, names, one, other string) {
	if (one == "") != (other == "") {
		ps.at(p, "%s go together; set both or neither", names)
	}
}

func (ps *problems) checkEtcd(e settings.Etcd) {
	list := path{SectionEtcd, "endpoints"}
	if len(e.Endpoints) == 0 && !ps.has(list) {
		ps.at(list, "no members are listed; write the URLs of all members, such as https://10.0.0.1:2379")
	}
	secure := 0
	for i, text := range e.Endpoints {
		u, err := url.Parse(text)
		switch at := list.with(strconv.Itoa(i)); {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "":
			ps.at(at, "is no URL of a member of etcd; write one such as https://10.0.0.1:2379; user and password have keys of their own")
		case slices.Contains(e.Endpoints[:i], text):
			ps.at(at, "%s is listed twice", text)
		case u.Scheme == "https":
			secure++
		}
	}
	if secure > 0 && secure < len(e.Endpoints) {
		ps.at(list, "some members have https:// and some http:// URLs; write one of the two for all")
	}
	ps.checkTogether(path{SectionEtcd}, "username and password", string(e.Username), string(e.Password))
	ps.checkTLS(path{SectionEtcd, "tls"}, e.TLS, secure == 0, "no member uses TLS; write https:// URLs, or remove the section")
}

func (ps *problems) checkZooKeeper(z settings.ZooKeeper) {
	list := path{SectionZooKeeper, "servers"}
	if len(z.Servers) == 0 && !ps.has(list) {
		ps.at(list, "no servers are listed; write all, such as 10.0.0.1:2181")
	}
	for i, text := range z.Servers {
		host, port, err := net.SplitHostPort(text)
		switch at := list.with(strconv.Itoa(i)); {
		case err != nil || host == "" || port == "" || strings.ContainsAny(text, "/@, "):
			ps.at(at, "is no server of ZooKeeper; write its host and port, such as 10.0.0.1:2181; chroot, user and password have keys of their own")
		case slices.Contains(z.Servers[:i], text):
			ps.at(at, "%s is listed twice", text)
		}
	}
	if at := z.Chroot; at != "" && (!strings.HasPrefix(at, "/") || strings.HasSuffix(at, "/") || strings.Contains(at, "//")) {
		ps.at(path{SectionZooKeeper, "chroot"}, "is no path of a node; write one such as /apps/billing")
	}
	ps.checkTogether(path{SectionZooKeeper}, "username and password", string(z.Username), string(z.Password))
	ps.checkTogether(path{SectionZooKeeper, "tls"}, "cert_file and key_file", z.TLS.CertFile, z.TLS.KeyFile)
}
