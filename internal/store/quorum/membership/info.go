package membership

import (
	"fmt"
	"strconv"
	"strings"
)

// serverInfo holds the fields of a server's INFO.
type serverInfo map[string]string

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
func (i serverInfo) isReplica() bool  { return i["role"] == "slave" || i["role"] == "replica" }
func (i serverInfo) eviction() string { return i["maxmemory_policy"] }

// A Server is what a node's INFO says about it.
type Server struct {
	Role, Version, RunID string
	// Persistence is aof, rdb or none; empty if unknown.
	Persistence     string
	MaxmemoryPolicy string
}

func (i serverInfo) server() Server {
	return Server{
		Role: i["role"], Version: i.version(), RunID: i.runID(),
		Persistence: i.persistence(), MaxmemoryPolicy: i.eviction(),
	}
}

// version returns the server's release. Valkey also reports the Redis version it is
// compatible with.
func (i serverInfo) version() string {
	if v := i["valkey_version"]; v != "" {
		return "valkey " + v
	}
	return i["redis_version"]
}

// number returns a number, 0 if the field is missing.
func (i serverInfo) number(field string) int64 {
	n, _ := strconv.ParseInt(i[field], 10, 64)
	return n
}

// tooOld reports whether the server lacks features that the scripts need. An unknown
// version counts as new, since the server may not be Redis.
func (i serverInfo) tooOld() bool {
	var major, minor int
	if n, _ := fmt.Sscanf(i["redis_version"], "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < 6 || major == 6 && minor < 2
}

// persistence returns how the server stores its data, as far as INFO tells.
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
