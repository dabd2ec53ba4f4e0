package config

// What etcd bears. It keeps all keys in memory, and by default at most 2 GiB of them and of
// what they were before it last compacted. Docs/etcd.md has the measurements.
const (
	// EtcdKeep is the default of history.keep on etcd.
	EtcdKeep = 100
	// maxEtcdHistory is how much all jobs together may keep there.
	maxEtcdHistory = 1 << 30
	// entryBytes is what an entry takes there, with its key.
	entryBytes = 1400
)

// checkHistory makes sure that the store bears the history of all jobs.
func checkHistory(c *Config, ps *problems) {
	if c.Section() != SectionEtcd {
		return
	}
	total := 0
	for _, job := range c.Jobs {
		runs, others := job.History.Keep, job.History.Keep
		total += (runs+others)*entryBytes + job.History.MaxBytes
	}
	if total > maxEtcdHistory {
		ps.at(path{"defaults", "history"}, "the history of all %d jobs may reach %d MiB, and etcd bears %d MiB; lower history.keep or history.max_bytes of the jobs that run often",
			len(c.Jobs), total>>20, maxEtcdHistory>>20)
	}
}
