package config

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/replica/settings"
)

// checkRedis makes sure that there are nodes, or one Redis, and that they can be reached.
func (ps *problems) checkRedis(r settings.Redis) {
	ps.checkNodes(r)
	all := urls(r)
	ps.checkTLS(SectionRedis, r.TLS, len(all) > 0 && !slices.ContainsFunc(all, mayUseTLS), "no URL uses TLS; write rediss:// URLs, or remove the section")
}

func mayUseTLS(url settings.Secret) bool {
	return !strings.HasPrefix(string(url), "redis://") && !strings.HasPrefix(string(url), "valkey://")
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
		ps.at(list, "no nodes are listed; write the URLs of 1, 3, 5 or 7 independent Redis masters, such as redis://10.0.0.1:6379; or write redis.url, redis.sentinel or redis.cluster for one Redis, or in place of redis the section of another store: %s", strings.Join(otherSections(), ", "))
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
