package listing

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// A Replica is one replica that was seen lately.
type Replica struct {
	ID         string            `json:"id"`
	State      string            `json:"state"`
	Host       string            `json:"host"`
	PID        int               `json:"pid"`
	Version    string            `json:"version"`
	Started    *string           `json:"started"`
	Seen       *string           `json:"seen"`
	Running    []string          `json:"running"`
	ConfigHash *string           `json:"config_hash"`
	Labels     map[string]string `json:"labels"`

	// Null where an older release does not say so.
	ConfigSince *string  `json:"config_since"` // it serves the set of jobs that config_hash stands for
	Jobs        *int     `json:"jobs"`         // how many it serves
	Won         *int64   `json:"won"`          // claims since it started
	OffsetMilli *float64 `json:"offset_ms"`    // its clock is so far ahead of the nodes'; null also if that is not known
}

// Odd says why the replica, which is not ready, is not: "is draining", or "has a
// clock 1h0m0s behind".
func (r Replica) Odd() string {
	if r.State != scheduler.StateSkewed || r.OffsetMilli == nil {
		return "is " + r.State
	}
	return "has a clock " + r.Clock()
}

// Clock is how far its clock is from the nodes' in words, "" if that is not known.
func (r Replica) Clock() string {
	if r.OffsetMilli == nil {
		return ""
	}
	by := time.Duration(*r.OffsetMilli * float64(time.Millisecond)).Round(time.Millisecond)
	if by < 0 {
		return (-by).String() + " behind"
	}
	return by.String() + " ahead"
}

// mattersInTimes is how far a clock is off for people to notice it in a time.
const mattersInTimes = 500 * time.Millisecond

// NewReplica returns what a replica says of itself as a row. Its times, which are by
// its own clock, become those of the nodes if the difference is known and matters.
func NewReplica(r scheduler.Replica) Replica {
	if r.ClockOffset != nil && r.ClockOffset.Abs() >= mattersInTimes {
		for _, at := range []*time.Time{&r.Started, &r.Seen, &r.ConfigSince} {
			if !at.IsZero() {
				*at = at.Add(-*r.ClockOffset)
			}
		}
	}
	row := Replica{
		ID: r.ID, State: r.State, Host: r.Host, PID: r.PID, Version: r.Version,
		Started: Stamp(r.Started), Seen: Stamp(r.Seen), Running: r.Running, ConfigHash: Optional(r.ConfigHash), Labels: r.Labels,
		ConfigSince: Stamp(r.ConfigSince), Jobs: r.Jobs, Won: r.Won,
	}
	if r.ClockOffset != nil {
		ms := float64(r.ClockOffset.Round(10*time.Microsecond)) / 1e6
		row.OffsetMilli = &ms
	}
	if row.Running == nil {
		row.Running = []string{}
	}
	return row
}

// Replicas lists the replicas that were seen lately. With a
// *scheduler.PartialError some may be missing.
func (r Reader) Replicas(ctx context.Context) ([]Replica, error) {
	list, err := r.Roster.Replicas(ctx)
	if Whole(err) != nil {
		return nil, err
	}
	rows := make([]Replica, len(list))
	for i, one := range list {
		rows[i] = NewReplica(one)
	}
	return rows, err
}
