package config

import (
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// listed is where the nodes checked so far are.
type listed struct{ addrs, names map[string]path }

// checkNodes checks the list of nodes, or the one Redis.
func (r RedisConfig) checkNodes(ps *problems) {
	list := path{"redis", "nodes"}
	if len(r.Nodes) == 0 && ps.has(list) {
		return
	}
	if r.isSingle() {
		r.checkSingle(ps)
		return
	}
	if r.Copies != 0 {
		ps.at(path{"redis", "copies"}, "counts the replicas of one Redis, which redis.url, redis.sentinel or redis.cluster name; independent masters need none, so remove it")
	}
	switch n := len(r.Nodes); {
	case n == 0:
		ps.at(list, "no nodes are listed; write the URLs of 1, 3, 5 or 7 independent Redis masters, such as redis://10.0.0.1:6379; or write redis.url, redis.sentinel or redis.cluster for one Redis, or a postgres, etcd or zookeeper section in place of redis")
	case n%2 == 0:
		ps.at(list, "%d nodes are listed, and an even number survives no more failures than one less; list 1, 3, 5 or 7", n)
	case n > 7:
		ps.at(list, "%d nodes are listed; list 1, 3, 5 or 7", n)
	}
	known := listed{addrs: map[string]path{}, names: map[string]path{}}
	for i, entry := range r.Nodes {
		known.checkEntry(ps, list.with(strconv.Itoa(i)), entry)
	}
}

func (l listed) checkEntry(ps *problems, p path, entry NodeEntry) {
	url := entry.URL
	if url == "" {
		if !ps.has(p) {
			ps.at(p, "has no url; write one such as redis://10.0.0.1:6379")
		}
		return
	}
	if hasReference(url) {
		expanded, err := Expand(url)
		if err != nil {
			return // a secret of another machine: seen when it is used
		}
		url = expanded
	}
	addr, problem := nodeAddr(membership.NodeConfig{Name: entry.Name, URL: url})
	if problem != "" {
		ps.at(p, "%s", problem)
		return
	}
	name := strings.ToLower(entry.Name)
	if name == "" {
		name = addr
	}
	if first, ok := l.addrs[addr]; ok {
		ps.at(p, "%s is listed twice, first at %s; each node must be a Redis of its own", addr, first)
	} else if first, ok := l.names[name]; ok {
		ps.at(p, "the name %s is listed twice, first at %s; give each node its own", name, first)
	} else {
		l.addrs[addr], l.names[name] = p, p
	}
}

// nodeAddr returns the host:port of a node, or what is wrong with it in the
// words of package membership, which is asked about each node alone so that the
// answer can be given the node's place.
func nodeAddr(n membership.NodeConfig) (addr, problem string) {
	one := membership.Config{Nodes: []membership.NodeConfig{n}}.WithDefaults()
	if err := one.Validate(); err != nil {
		return "", strings.TrimPrefix(err.Error(), "node 1: ")
	}
	n.Name = ""
	unnamed := membership.Config{Nodes: []membership.NodeConfig{n}}.WithDefaults()
	return unnamed.Nodes[0].Name, ""
}
