package config

// What etcd and ZooKeeper bear. Both keep all in memory, etcd by default at most 2 GiB of it and
// of what it was before it last compacted. Docs/etcd.md and docs/zookeeper.md have the measurements.
const (
	// SmallKeep is the default of history.keep there.
	SmallKeep = 100
	// entryBytes is what an entry takes there, with its key.
	entryBytes = 1400
)

// bears returns how much all jobs together may keep in a store; 0: as much as they like.
func bears(section string) (store string, most int) {
	switch section {
	case SectionEtcd:
		return "etcd", 1 << 30
	case SectionZooKeeper:
		return "ZooKeeper", 256 << 20
	}
	return "", 0
}

// checkHistory makes sure that the store bears the history of all jobs.
func checkHistory(c *Config, ps *problems) {
	store, most := bears(c.Section())
	if most == 0 {
		return
	}
	total := 0
	for _, job := range c.Jobs {
		runs, others := job.History.Keep, job.History.Keep
		total += (runs+others)*entryBytes + job.History.MaxBytes
	}
	if total > most {
		ps.at(path{"defaults", "history"}, "the history of all %d jobs may reach %d MiB, and %s bears %d MiB; lower history.keep or history.max_bytes of the jobs that run often",
			len(c.Jobs), total>>20, store, most>>20)
	}
}
