package scheduler

import (
	"cmp"
	"slices"
	"strings"
)

// Config.MaxRunning bounds what a replica runs at once. An attempt needs a place
// before each try to claim: what finds none is left to other replicas, which may
// have one. It keeps the place until the function has returned, which for one
// that ignores its context is later than the lease. Between two tries it has
// none, so that nobody waits for somebody who waits.

// places are those of a replica. They belong to the loop.
type places struct {
	limit   int
	taken   map[*attempt]bool
	waiting []*attempt // the one who goes first, first
}

// ask gives a place to a, or has it wait for one: it is told by its channel.
func (p *places) ask(a *attempt) {
	i, _ := slices.BinarySearchFunc(p.waiting, a, turn)
	p.waiting = slices.Insert(p.waiting, i, a)
	p.fill()
}

// leave takes back the place of a, or its wish for one.
func (p *places) leave(a *attempt) {
	delete(p.taken, a)
	p.waiting = slices.DeleteFunc(p.waiting, func(w *attempt) bool { return w == a })
	p.fill()
}

// fill gives what is free to those who go first.
func (p *places) fill() {
	for len(p.waiting) > 0 && len(p.taken) < p.limit {
		a := p.waiting[0]
		p.waiting = p.waiting[1:]
		if p.taken == nil {
			p.taken = map[*attempt]bool{}
		}
		p.taken[a] = true
		a.place <- struct{}{}
	}
}

// turn orders those whom a limit makes wait: what is backfilled last, then by
// priority, then by tick.
func turn(a, b *attempt) int {
	return cmp.Or(
		cmp.Compare(a.backfills(), b.backfills()),
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.tick.start.Compare(b.tick.start),
		strings.Compare(a.job.Name, b.job.Name),
	)
}
