package sim

import (
	"sync"
	"time"
)

// A Guard protects a job's sink, and refuses a token below one that it has seen.
type Guard struct {
	mu   sync.Mutex
	seen uint64
}

func (g *Guard) admit(token uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if token < g.seen {
		return false
	}
	g.seen = token
	return true
}

// Write sends a write of the claim in e to the guard. It takes a while, and nobody waits
// for it.
func (p *Process) Write(g *Guard, e Event) {
	if !p.Awake() {
		return
	}
	w := p.world
	id := p.number(digest(p.Name, "write", e.Claim))
	delay, ok := w.travel(w.Seed.draw(id), w.weather())
	if !ok {
		return
	}
	w.at(time.Now().Add(delay), id, func() {
		e.Replica, e.What = p.Name, Wrote
		if !g.admit(e.Token) {
			e.What = Rejected
		}
		w.History.Add(e)
	})
}
