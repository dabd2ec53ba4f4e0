package nodes

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// serverInfo is what INFO says of a server, as far as it matters here.
type serverInfo map[string]string

// info asks the node's server about itself.
func (n *Node) info(ctx context.Context) (serverInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, n.set.cfg.Timeout)
	defer cancel()
	text, err := n.transport.Info(ctx, n.name)
	if err != nil {
		return nil, callError(ctx, err)
	}
	return parseInfo(text), nil
}

func parseInfo(text string) serverInfo {
	info := serverInfo{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[key] = value
		}
	}
	return info
}

func (i serverInfo) runID() string    { return i["run_id"] }
func (i serverInfo) replica() bool    { return i["role"] == "slave" || i["role"] == "replica" }
func (i serverInfo) cluster() bool    { return i["cluster_enabled"] == "1" }
func (i serverInfo) sentinel() bool   { return i["redis_mode"] == "sentinel" }
func (i serverInfo) eviction() string { return i["maxmemory_policy"] }

// version names the server's release. Valkey also says which Redis it stands in
// for.
func (i serverInfo) version() string {
	if v := i["valkey_version"]; v != "" {
		return "valkey " + v
	}
	return i["redis_version"]
}

// number returns a count, 0 if the server does not tell.
func (i serverInfo) number(field string) int64 {
	n, _ := strconv.ParseInt(i[field], 10, 64)
	return n
}

// tooOld tells whether the server lacks what the scripts need. A version that
// cannot be read is taken for a new one, as of servers that are not Redis.
func (i serverInfo) tooOld() bool {
	var major, minor int
	if n, _ := fmt.Sscanf(i["redis_version"], "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < 6 || major == 6 && minor < 2
}

// persistence names how the server keeps its data, as far as INFO tells.
func (i serverInfo) persistence() string {
	switch {
	case i["aof_enabled"] == "1":
		return "aof"
	case i["rdb_saves"] != "" && i["rdb_saves"] != "0":
		return "rdb"
	case i["aof_enabled"] == "":
		return ""
	}
	return "none"
}
