package config

import (
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A singleRedis is one Redis that keeps everything, and where it is written.
type singleRedis struct {
	at   path
	node membership.NodeConfig
}

// isSingle reports whether one Redis keeps everything, and no list of nodes.
func (r RedisConfig) isSingle() bool { return len(r.single()) > 0 }

// single returns the one Redis, or what is written in its place. It is more than one where
// the configuration is wrong.
func (r RedisConfig) single() []singleRedis {
	var all []singleRedis
	add := func(key string, node membership.NodeConfig) {
		node.Name = membership.SingleName
		all = append(all, singleRedis{path{"redis", key}, node})
	}
	if r.URL != "" {
		add("url", membership.NodeConfig{URL: r.URL})
	}
	if r.Sentinel.Master != "" || r.Sentinel.Addresses != nil {
		add("sentinel", membership.NodeConfig{Master: r.Sentinel.Master, Seeds: slices.Clone(r.Sentinel.Addresses)})
	}
	if r.Cluster.Addresses != nil {
		add("cluster", membership.NodeConfig{Seeds: slices.Clone(r.Cluster.Addresses)})
	}
	return all
}

// urls returns all URLs of the section.
func (r RedisConfig) urls() []string {
	var all []string
	for _, n := range r.Nodes {
		all = append(all, n.URL)
	}
	for _, one := range r.single() {
		all = append(all, one.node.Seeds...)
		if one.node.URL != "" {
			all = append(all, one.node.URL)
		}
	}
	return all
}

// checkSingle makes sure that there is one Redis, and that its addresses are some.
func (r RedisConfig) checkSingle(ps *problems) {
	all := r.single()
	if len(r.Nodes) > 0 {
		ps.at(all[0].at, "there are redis.nodes, too; everything is kept in one store, so remove one of the two")
	}
	for _, other := range all[1:] {
		ps.at(other.at, "there is %s, too; everything is kept in one Redis, so remove one of the two", strings.Join(all[0].at, "."))
	}
	if r.Copies < 0 {
		ps.at(path{"redis", "copies"}, "%d is negative; write how many replicas the Redis has, or 0", r.Copies)
	}
	for _, one := range all {
		one.check(ps)
	}
}

func (one singleRedis) check(ps *problems) {
	n := one.node
	if one.at[1] == "sentinel" && n.Master == "" {
		ps.at(one.at, "has no master; write the name under which the Sentinels watch it, such as mymaster")
		return
	}
	for _, text := range append(n.Seeds, n.URL) {
		if _, err := Expand(text); err != nil {
			return // a secret of another machine: seen when it is used
		}
	}
	n.URL, _ = Expand(n.URL)
	for i := range n.Seeds {
		n.Seeds[i], _ = Expand(n.Seeds[i])
	}
	if _, problem := nodeAddr(n); problem != "" {
		ps.at(one.at, "%s", problem)
	}
}
