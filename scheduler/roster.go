package scheduler

import (
	"context"
	"time"
)

// A Replica is one process of the cluster as it last described itself.
type Replica struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Seen is the time of its last heartbeat, by its own clock.
	Seen time.Time `json:"seen"`
	// State is "ready", "waiting" (for nodes or their grace) or "draining".
	State   string   `json:"state"`
	Running []string `json:"running"` // jobs it runs now
	// ConfigHash tells replicas with different job definitions apart.
	ConfigHash string `json:"config_hash"`
}

// A JobInfo is what listings say of a job without its configuration at hand.
type JobInfo struct {
	Name        string `json:"name"`
	Func        string `json:"func"`
	Schedule    string `json:"schedule"`
	Timezone    string `json:"timezone"`
	Description string `json:"description"`
	// Replica last published this definition, at Published.
	Replica   string    `json:"replica"`
	Published time.Time `json:"published"`
}

// SeenLately is how long a replica stays on the roster after its last beat.
const SeenLately = 15 * time.Second

// ServedBy names a live replica that may still serve the published job, "" if
// none does: replicas publish their jobs when they start, and again and again
// while they live.
func (j JobInfo) ServedBy(live []Replica, now time.Time) string {
	if now.Sub(j.Published) > 2*publishEvery {
		return ""
	}
	var by string
	for _, r := range live {
		switch {
		case r.Started.After(j.Published): // it came later, and has not published it
		case r.ID == j.Replica:
			return r.ID
		default:
			by = r.ID
		}
	}
	return by
}

// A Roster knows which replicas live and which jobs they serve. It is a hint:
// who may run a tick is decided by the claim alone.
type Roster interface {
	// Beat announces self, sets its Seen to now, and returns the replicas seen
	// lately, self included.
	Beat(ctx context.Context, self Replica) ([]Replica, error)
	// Leave takes self off the roster.
	Leave(ctx context.Context, id string) error
	// Replicas lists the replicas seen lately, sorted by ID.
	Replicas(ctx context.Context) ([]Replica, error)
	// Publish makes the definitions of jobs known.
	Publish(ctx context.Context, jobs []JobInfo) error
	// Jobs lists the published definitions, sorted by name.
	Jobs(ctx context.Context) ([]JobInfo, error)
}
