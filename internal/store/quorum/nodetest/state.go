package nodetest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
)

// A State is what a server stores of one namespace, by its full keys.
type State struct {
	// Member is ns:node; nil on a blank node.
	Member *Member
	// Jobs are locks, claims and runs, by the prefix of a job's keys. Tombstones of
	// their owners are in Dead, by key.
	Jobs map[string]protocol.State
	Dead map[string]protocol.Tombstone
	// Notes are those of ticks that did not run, oldest tick first.
	Notes map[string][]Run
	// Logs are the logs of the jobs' runs, by name, and their index.
	Logs map[string]map[string]string
	// Rosters are the announcements: names and what they announce.
	Rosters map[string]map[string]string
}

// A Member is the record of a formatted node.
type Member struct {
	// Format is empty if the record lacks the field member, as in format 1.
	Format, Name, Members, Epoch, Grace string
	RunID, Since, Embedded, Names       string
	// SealedFor is the target of a change of the list, SealedNames its members;
	// empty on a node that is not sealed. SealedAt is the clock at the seal.
	SealedFor, SealedNames, SealedAt string
	// GCFence and GCTick are the largest of the jobs that were forgotten.
	GCFence, GCTick string
	Served          bool
}

// Nothing is the memory of a server that lost everything.
func Nothing() State {
	return State{
		Jobs: map[string]protocol.State{}, Dead: map[string]protocol.Tombstone{}, Notes: map[string][]Run{},
		Logs: map[string]map[string]string{}, Rosters: map[string]map[string]string{},
	}
}

// Copy returns a State that shares nothing mutable with s. Rules do not change the
// State of a job but return another.
func (s State) Copy() State {
	c := State{
		Jobs: maps.Clone(s.Jobs), Dead: maps.Clone(s.Dead), Notes: maps.Clone(s.Notes),
		Logs: maps.Clone(s.Logs), Rosters: maps.Clone(s.Rosters),
	}
	if s.Member != nil {
		m := *s.Member
		c.Member = &m
	}
	for key, notes := range c.Notes {
		c.Notes[key] = slices.Clone(notes)
	}
	for key, logs := range c.Logs {
		c.Logs[key] = maps.Clone(logs)
	}
	for key, roster := range c.Rosters {
		c.Rosters[key] = maps.Clone(roster)
	}
	return c
}

// Lasting returns a copy of s without expiring data: locks, markers and tombstones.
func (s State) Lasting() State {
	c := s.Copy()
	clear(c.Dead)
	for key, job := range c.Jobs {
		if job.Lock.Until != Endless {
			job.Lock = protocol.Lease{}
		}
		job.TickLocks, job.Marker = nil, 0
		c.setJob(key, job)
	}
	return c
}

// Endless is the end of a lock that another client has set, and never expires.
const Endless = math.MaxInt64

// setJob stores the state of a job.
func (s *State) setJob(key string, job protocol.State) {
	job.Tombstones = nil
	s.Jobs[key] = job
}

// Sweep drops expired data.
func (s *State) Sweep(now time.Time) {
	ms := now.UnixMilli()
	maps.DeleteFunc(s.Dead, func(_ string, t protocol.Tombstone) bool { return ms > t.Until })
	for key, job := range s.Jobs {
		s.setJob(key, job.Sweep(ms))
	}
}

// Value is a lock as servers store it.
func Value(l protocol.Lease) string {
	if l.Committed {
		return l.Owner
	}
	return "?" + l.Owner
}

// Letter is the letter that servers store before a packed claim.
func Letter(c protocol.Claim) string {
	letter := map[protocol.Code]string{"": "-", protocol.OK: "O", protocol.RanOut: "R", protocol.Late: "L"}[c.Ended]
	switch {
	case c.Void:
		return "V"
	case c.Handed:
		return strings.ToLower(letter)
	}
	return letter
}
