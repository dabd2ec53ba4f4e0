package campaigntest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A Fault does harm, and leaves all well.
type Fault struct {
	What string // that it does, for the result
	Do   func()
}

// Storm does each fault so many times, in any order. After the first that kills, it checks what pages say.
func (c *Campaign) Storm(times int, faults []Fault) {
	c.Helper()
	checked := false
	for _, n := range c.Rand.Perm(times * len(faults)) {
		f := faults[n%len(faults)]
		c.Note(f.What)
		f.Do()
		c.Ready()
		if !checked && strings.Contains(f.What, "killed") {
			checked = true
			c.CheckReads()
		}
		c.Wait(c.UpTo(1500 * time.Millisecond))
	}
}

// Note counts a fault.
func (c *Campaign) Note(what string) { c.faults[what]++ }

// Healed notes that the store answers again. It may take claims now that replicas have given up.
func (c *Campaign) Healed() { c.Facts.Thawed = append(c.Facts.Thawed, time.Now()) }

// ReplicaFaults are those of replicas.
func (c *Campaign) ReplicaFaults() []Fault {
	some := func() string { return IDs()[c.Rand.IntN(len(IDs()))] }
	kill := func(ids ...string) {
		for _, id := range ids {
			c.Replicas[id].Kill()
		}
		c.Wait(c.UpTo(1500 * time.Millisecond))
	}
	return []Fault{
		{"replicas killed", func() {
			id := some()
			kill(id)
			c.Start(id)
		}},
		{"all replicas killed, and the first that returns", func() {
			kill(IDs()...)
			id := some()
			c.Start(id)
			c.Replicas[id].AwaitLog(`"run ended"`)
			c.Wait(c.UpTo(2 * time.Second)) // it has not yet looked far into the past
			kill(id)
			c.Start(IDs()...)
		}},
		{"replicas frozen", func() {
			if c.Rand.IntN(2) == 0 { // while they claim
				c.Wait(time.Until(time.Now().Truncate(time.Second).Add(time.Second + c.UpTo(5*time.Millisecond))))
			}
			thaw := c.Replicas[some()].Freeze()
			c.Wait(TTL/2 + c.UpTo(4500*time.Millisecond))
			thaw()
		}},
		{"replicas drained", func() {
			id := some()
			c.Replicas[id].Drain()
			c.Start(id)
		}},
	}
}

// A Member is one server of a store.
type Member interface {
	// Kill ends it as a crash would, and Start starts it again.
	Kill(tb testing.TB)
	Start(tb testing.TB)
	// Freeze stops it until Thaw.
	Freeze(tb testing.TB)
	Thaw(tb testing.TB)
	// Cut drops what passes between it and other members, and what passes between it and
	// clients unless they stay. The outsider stays. Heal lets all pass again.
	Cut(tb testing.TB, clientsStay bool)
	Heal(tb testing.TB)
}

// MemberFaults are those of the members, of which one leads. About half of them are partitions.
func (c *Campaign) MemberFaults(members []Member, leader func() int) []Fault {
	lead := func() []Member { return members[leader():][:1] }
	some := func() []Member { // the leader, or any
		if c.Rand.IntN(2) == 0 {
			return lead()
		}
		return members[c.Rand.IntN(len(members)):][:1]
	}
	most := func() []Member {
		list := slices.Clone(members)
		c.Rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:len(list)/2+1]
	}
	cut := func(clientsStay bool) func(Member) {
		return func(m Member) { m.Cut(c.T, clientsStay) }
	}
	kill, start := func(m Member) { m.Kill(c.T) }, func(m Member) { m.Start(c.T) }
	freeze, thaw := func(m Member) { m.Freeze(c.T) }, func(m Member) { m.Thaw(c.T) }
	heal := func(m Member) { m.Heal(c.T) }
	var faults []Fault
	add := func(what string, of func() []Member, hurt, mend func(Member)) {
		faults = append(faults, Fault{what, func() {
			list := of()
			for _, m := range list {
				hurt(m)
			}
			c.Wait(time.Second + c.UpTo(5*time.Second)) // often longer than an election
			for _, m := range list {
				mend(m)
			}
			c.Healed()
		}})
	}
	add("members killed", some, kill, start)
	add("members frozen", some, freeze, thaw)
	add("majorities frozen", most, freeze, thaw)
	add("members cut off", some, cut(false), heal)
	add("leaders cut off, but for one replica", lead, cut(false), heal)
	add("leaders cut off from members only", lead, cut(true), heal)
	add("majorities cut off from each other", most, cut(true), heal)
	return faults
}
