// Package health is what a store says of itself when it is inspected or checked: of each Redis
// node, or of the one consistent store. The console makes the rows of its listings from it.
package health

import "time"

// A Node is a Redis node, or the only store, as one examination found it.
type Node struct {
	Name string
	URL  string // without secrets
	// Reachable reports whether the node answered. Err is what is wrong with it,
	// reachable or not; nil if nothing is.
	Reachable bool
	Err       error
	// Refuses: it answers, and refuses what ticks need until an operator has fixed Err.
	Refuses bool
	// Slow: it did not answer in time, asked twice, but has answered lately. It, the network or
	// this machine may only be busy.
	Slow bool

	// Version of the server; empty if unknown. The others are of the INFO of Redis.
	// Persistence is aof, rdb or none.
	Version                                   string
	Role, RunID, Persistence, MaxmemoryPolicy string

	// Blank: the node holds nothing of the namespace.
	Blank bool
	// Embedded: the node lives inside a process, for development.
	Embedded bool
	// Members are the names of the list that the node belongs to.
	Members []string
	// Epoch counts the changes of the list, of a formatted node.
	Epoch int64
	// SealedFor are the names of the list that the node is sealed for, nil if no change
	// is in progress.
	SealedFor []string
	// Since is the time since which the node remembers, by its own clock; zero if it
	// was declared as new.
	Since time.Time
	// Vouches reports whether the node votes on current ticks, or the store grants them.
	// VouchesAt is when it does, by the local clock; zero if unknown, or if it never waited.
	Vouches   bool
	VouchesAt time.Time
	// Why says why the node does not vote yet; empty if it votes or Err is set.
	Why string

	// RTT is the round trip of the examination. Offset is how far the node's clock is
	// ahead of the local one.
	RTT      time.Duration
	Offset   time.Duration
	Warnings []string

	// By a check only:

	// Fsync is the node's appendfsync, empty if it cannot be read.
	Fsync string
	// MaxMemory is the node's limit in bytes, 0 without one. UsedMemory counts toward
	// it.
	MaxMemory, UsedMemory int64
	// Unsaved is how many writes came after the last snapshot; empty if unknown. Replicas is how
	// many follow the server.
	Unsaved  string
	Replicas int
	// ClockOff is how far the clock is from the median of all, 0 if that costs nothing.
	ClockOff time.Duration
	// MayRestart reports whether a quorum of the other nodes votes.
	MayRestart bool
	Findings   []Finding
}

// A Checkup is the result of a check.
type Checkup struct {
	Nodes []Node
	// Local holds findings about this machine. ClockOff is that of its clock.
	Local    []Finding
	ClockOff time.Duration
	// Redis has the settings of Redis nodes; nil for another store.
	Redis *Redis
	// Next is the node to restart next, the one that has voted longest. It is empty
	// while no node may be restarted without losing ticks.
	Next string
	// NextAt is the earliest time for a restart, by the local clock. It is zero if a
	// node may be restarted now, or if time alone does not help.
	NextAt time.Time
	// Service is the one that the namespace belongs to; empty if nobody has named it.
	Service string
}

// Redis are settings of Redis nodes that decide what a finding costs; membership.Config explains them.
type Redis struct {
	Durable        bool
	Copies         int
	Grace, Timeout time.Duration
}

// A Finding will cost votes, memory or ticks. Its text says what to do.
type Finding struct {
	Topic string // state, clock, persistence, eviction, memory, latency, replicas
	Level Level
	Text  string
}

// A Level says what a Finding requires.
type Level int

// Levels of a Finding.
const (
	Note Level = iota // all is well; good to know
	Wait              // it passes by itself
	Fix               // an operator should fix it
)

// String returns the level in lower case.
func (l Level) String() string { return [...]string{"note", "wait", "mend"}[l] }

// Level returns the highest level of the findings.
func (n Node) Level() Level { return Worst(n.Findings) }

// Worst returns the highest level of findings.
func Worst(findings []Finding) Level {
	worst := Note
	for _, f := range findings {
		worst = max(worst, f.Level)
	}
	return worst
}
