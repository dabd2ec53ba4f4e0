package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/scheduler/roster"
)

// A Replica is one replica that was seen lately, that was lost, or that left.
type Replica struct {
	ID         string            `json:"id" jsonschema:"Name of the replica."`
	Instance   *string           `json:"instance" jsonschema:"Tells two processes with one name apart; null from older releases."`
	Program    *string           `json:"program" jsonschema:"Program that it runs: the path of its main package, or the name of its file; null from older releases."`
	Shared     bool              `json:"shared" jsonschema:"Another live process has the same name."`
	Strangers  []string          `json:"strangers" jsonschema:"Names of jobs that another live replica serves in another way, although no start, drain or change in the last two minutes explains it."`
	State      string            `json:"state" jsonschema:"ready, waiting, skewed or draining; lost: it fell silent in the last 24 hours, has not left and not come back; left: see /replicas/left."`
	Host       string            `json:"host"`
	PID        int               `json:"pid" jsonschema:"Process ID."`
	Version    string            `json:"version" jsonschema:"Release of Quorate."`
	Started    *string           `json:"started"`
	Seen       *string           `json:"seen" jsonschema:"When it last reported to the store; of one that left, when it left."`
	Running    []string          `json:"running" jsonschema:"Jobs that it runs now."`
	ConfigHash *string           `json:"config_hash" jsonschema:"Hash of the set of jobs that it serves."`
	Labels     map[string]string `json:"labels"`

	ConfigSince *string  `json:"config_since" jsonschema:"When it began to serve this set; null from older releases."`
	Alone       []string `json:"alone" jsonschema:"Jobs that no other replica may run while this one restarts; null if a set of jobs is not known, or if at most one replica takes ticks."`
	Jobs        *int     `json:"jobs" jsonschema:"How many jobs it serves; null from older releases."`
	Won         *int64   `json:"won" jsonschema:"Claims since it started; null from older releases."`
	OffsetMilli *float64 `json:"offset_ms" jsonschema:"Its clock minus that of the store; null if unknown, or from older releases."`
}

// Problem describes a replica that is not ready: "is draining", or "has a clock 1h0m0s
// behind".
func (r Replica) Problem() string {
	if r.State != roster.StateSkewed || r.OffsetMilli == nil {
		return "is " + r.State
	}
	return "has a clock " + r.Clock()
}

// Clock is the difference between its clock and the nodes' in words, "" if unknown.
func (r Replica) Clock() string {
	if r.OffsetMilli == nil {
		return ""
	}
	by := r.offset().Round(time.Millisecond)
	if by < 0 {
		return (-by).String() + " behind"
	}
	return by.String() + " ahead"
}

func (r Replica) offset() time.Duration {
	return time.Duration(*r.OffsetMilli * float64(time.Millisecond))
}

// noticeableOffset is the smallest clock offset that is noticeable in displayed times.
const noticeableOffset = 500 * time.Millisecond

// NewReplica returns a replica as a row. If its clock is noticeably off, its times are
// converted to the nodes' clock.
func NewReplica(r roster.Replica) Replica {
	if r.ClockOffset != nil && r.ClockOffset.Abs() >= noticeableOffset {
		for _, at := range []*time.Time{&r.Started, &r.Seen, &r.ConfigSince} {
			if !at.IsZero() {
				*at = at.Add(-*r.ClockOffset)
			}
		}
	}
	row := Replica{
		ID: r.ID, Instance: Optional(r.Instance), Program: Optional(r.Program), State: r.State, Host: r.Host, PID: r.PID, Version: r.Version,
		Started: Stamp(r.Started), Seen: Stamp(r.Seen), Running: append([]string{}, r.Running...), Strangers: []string{}, ConfigHash: Optional(r.ConfigHash), Labels: r.Labels,
		ConfigSince: Stamp(r.ConfigSince), Jobs: r.Jobs, Won: r.Won,
	}
	if r.ClockOffset != nil {
		row.OffsetMilli = millis(*r.ClockOffset)
	}
	return row
}

// Replicas lists the replicas that were seen lately, and the lost ones.
func (r Reader) Replicas(ctx context.Context) ([]Replica, error) {
	list, err := r.Records.Roster.Remembered(ctx)
	rows, err := rowsOf(list, err, NewReplica)
	var live, takers []roster.Replica
	var of, taking []*Replica // their rows, sorted
	for i := range rows {
		if rows[i].State != roster.StateLost {
			live, of = append(live, list[i]), append(of, &rows[i])
		}
		if rows[i].TakesTicks(time.Now()) {
			takers, taking = append(takers, list[i]), append(taking, &rows[i])
		}
	}
	read := func(hash string) (roster.JobSet, error) {
		return r.Cache.set(hash, func(hash string) (roster.JobSet, error) { return r.storedSet(ctx, hash) })
	}
	if len(takers) > 1 {
		alone, _ := served.Alone(takers, read) // else not known
		for i, names := range alone {
			taking[i].Alone = append([]string{}, names...)
		}
	}
	for i, names := range served.Strangers(live, time.Now(), read) {
		of[i].Strangers = append(of[i].Strangers, names...)
		if i > 0 && of[i].ID == of[i-1].ID {
			of[i-1].Shared, of[i].Shared = true, true
		}
	}
	return rows, err
}

// Left lists the replicas that left in the last 24 hours, newest first, without those of which another
// process with the same name was seen later.
func (r Reader) Left(ctx context.Context) ([]Replica, error) {
	left, err := r.Records.Roster.Left(ctx)
	if err != nil {
		return nil, err
	}
	later, err := r.Records.Roster.Remembered(ctx)
	left = slices.DeleteFunc(left, func(l roster.Replica) bool {
		return slices.ContainsFunc(later, func(r roster.Replica) bool { return r.ID == l.ID && r.Seen.After(l.Seen) })
	})
	return rowsOf(left, err, NewReplica)
}

// Texts about live replicas that conflict, in logs, findings and on pages.
const (
	TwinsText     = "two live processes run under one replica.id: give each its own, or leave it out"
	StrangersText = "live replicas serve other jobs under the same names, and no roll-out explains it: a tick runs as defined on the replica that wins it; give another service a namespace of its own"
)

// Neighbours says which live replicas conflict: they share a name, or serve other jobs under the
// same names.
func Neighbours(rows []Replica) (conflicts []string) {
	var twins, strangers, jobs []string
	for _, r := range rows {
		who := fmt.Sprintf("%s (process %d on %s)", r.ID, r.PID, r.Host)
		if r.Shared {
			twins = append(twins, who)
		}
		if len(r.Strangers) > 0 {
			strangers, jobs = append(strangers, who), append(jobs, r.Strangers...)
		}
	}
	if len(twins) > 0 {
		conflicts = append(conflicts, TwinsText+": "+And(twins))
	}
	if len(strangers) > 0 {
		slices.Sort(jobs)
		conflicts = append(conflicts, StrangersText+": "+And(strangers)+" serve "+And(slices.Compact(jobs)))
	}
	return conflicts
}

// Present returns the replicas without the lost ones.
func Present(all []Replica) []Replica {
	return slices.DeleteFunc(slices.Clone(all), func(r Replica) bool { return r.State == roster.StateLost })
}
