package main

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// A kind is one rule of the protocol, or what a replica waits for.
type kind uint8

const (
	commit kind = iota
	finish
	lock
	look
	void
	kinds
)

func (k kind) String() string { return [...]string{"commit", "finish", "lock", "look", "void"}[k] }

func (c Cost) of(k kind) time.Duration {
	return [...]time.Duration{c.Commit, c.Finish, c.Lock, c.Look, c.Void}[k]
}

// An event happens at an instant of virtual time.
type event struct {
	at  time.Duration
	seq int
	do  func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = event{}
	*a = (*a)[:last]
	return e
}

// A world is a cluster at one instant at which jobs are due.
type world struct {
	p        Params
	rand     *rand.Rand
	now      time.Duration
	agenda   agenda
	seq      int
	replicas []*replica
	nodes    []*node
	ticks    []*tick

	calls    [kinds]int
	commands int
	last     time.Duration
}

// Simulate lets one instant pass and returns what it cost.
func Simulate(p Params, seed uint64) Bill {
	w := &world{p: p, rand: rand.New(rand.NewPCG(seed, 0))}
	for range p.Nodes {
		w.nodes = append(w.nodes, &node{world: w})
	}
	for i := range p.Replicas + p.Dead {
		w.replicas = append(w.replicas, newReplica(w, i, i >= p.Replicas))
	}
	for range p.due() {
		t := newTick(w)
		w.ticks = append(w.ticks, t)
		t.begin()
	}
	for len(w.agenda) > 0 {
		e := heap.Pop(&w.agenda).(event)
		w.now = e.at
		e.do()
	}
	return w.bill()
}

// after plans what happens in a while.
func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.agenda, event{at: w.now + d, seq: w.seq, do: do})
}

// oneWay is the time of one message on the network.
func (w *world) oneWay() time.Duration {
	return w.p.RTT/4 + time.Duration(w.rand.Int64N(int64(w.p.RTT)*3/4+1))
}

func (w *world) bill() Bill {
	b := Bill{Calls: map[kind]float64{}, Last: w.last}
	ticks := float64(len(w.ticks))
	for k, n := range w.calls {
		if n > 0 {
			b.Calls[kind(k)] = float64(n) / ticks
		}
	}
	b.Commands = float64(w.commands) / ticks
	for _, n := range w.nodes {
		b.Busy = max(b.Busy, n.worked)
	}
	for _, t := range w.ticks {
		if t.runs != 1 {
			b.Wrong++
		}
	}
	return b
}
