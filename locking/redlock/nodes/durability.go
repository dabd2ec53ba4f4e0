package nodes

import (
	"fmt"
	"strings"
)

// judgeData says what a restart or the eviction of keys would take from the node,
// and what that costs.
func (n Condition) judgeData(s *Set, info serverInfo) []Finding {
	if !n.Reachable || n.Embedded {
		return nil
	}
	var found []Finding
	if strings.HasPrefix(n.MaxmemoryPolicy, "volatile-") {
		found = append(found, Finding{"eviction", Mend, n.Warnings[0]})
	}
	loses, level := n.loses(info)
	if s.cfg.Durable && n.Fsync != "always" {
		return append(found, n.notDurable(loses))
	}
	if replicas := info.number("connected_slaves"); replicas > 0 && s.cfg.Durable {
		found = append(found, Finding{"replicas", Mend, "it has replicas: promoting one forgets what had not reached it, while redis.durable says that nothing is ever lost; a tick could run twice. Set redis.durable: false, or give up the failover"})
	}
	if loses == "" {
		return found
	}
	return append(found, Finding{"persistence", level, fmt.Sprintf("a crash loses %s. Restarted, it abstains for the restart_grace of %v, so no tick runs twice", loses, s.cfg.Grace)})
}

// loses names what a crash takes from the node, "" for nothing.
func (n Condition) loses(info serverInfo) (string, Level) {
	switch {
	case n.Persistence == "none":
		return "all it holds: its part of the ledger is gone, and with a quorum of such nodes all of it; set appendonly yes", Mend
	case n.Persistence == "rdb":
		return fmt.Sprintf("what came after its last snapshot, %s writes by now, and that part of the ledger; appendonly yes loses less", orNone(info["rdb_changes_since_last_save"])), Note
	case n.Persistence == "aof" && n.Fsync == "everysec":
		return "its last second (appendfsync everysec)", Note
	case n.Persistence == "aof" && n.Fsync == "no":
		return "what the system had not written to disk yet (appendfsync no)", Note
	case n.Persistence == "aof" && n.Fsync == "":
		return "its last second unless appendfsync is always, which cannot be read here (+config|get for the user of this command shows it)", Note
	}
	return "", Note
}

// notDurable finds that the operator's word does not hold.
func (n Condition) notDurable(loses string) Finding {
	if n.Persistence == "aof" && n.Fsync == "" {
		return Finding{"persistence", Note, "redis.durable needs appendfsync always, which cannot be read here: make sure of it"}
	}
	return Finding{"persistence", Mend, "redis.durable says that a restart loses nothing, but a crash loses " + loses + ". A tick could run twice: set appendonly yes and appendfsync always, or redis.durable: false"}
}

func orNone(s string) string {
	if s == "" {
		return "no"
	}
	return s
}
