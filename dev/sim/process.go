package sim

import (
	"sync"
	"time"
)

// A Process is one incarnation of one client of the nodes: a replica, or another client. It can be
// paused, as by SIGSTOP or a long garbage collection, cut off from nodes, and killed; its
// clock can be set.
//
// A pause stops it at its next reading of the clock and at its next message. Its timers run
// until then, as on a real machine.
type Process struct {
	Name  string
	Clock *Clock
	world *World

	mu     sync.Mutex
	sent   map[uint64]uint64 // messages of one content
	cut    map[int]int       // faults that keep it from a node
	asleep chan struct{}     // closed at the end of the pause; nil: awake
	dead   chan struct{}     // closed
}

// NewProcess returns a process that runs. Its name must be its own.
func (w *World) NewProcess(name string, clock *Clock) *Process {
	return &Process{
		Name: name, Clock: clock, world: w,
		sent: map[uint64]uint64{}, cut: map[int]int{}, dead: make(chan struct{}),
	}
}

// Awake waits for the end of the pause, if the process is paused, and tells
// whether the process lives.
func (p *Process) Awake() bool {
	for {
		p.mu.Lock()
		asleep := p.asleep
		p.mu.Unlock()
		if asleep != nil {
			select {
			case <-asleep:
				continue
			case <-p.dead:
			}
		}
		return !p.Dead()
	}
}

func (p *Process) paused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asleep != nil
}

// Wall reads the process's clock, as soon as the process is awake.
func (p *Process) Wall() time.Time {
	p.Awake()
	return p.Clock.Read(time.Now())
}

// Pause stops the process until Resume.
func (p *Process) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asleep == nil {
		p.asleep = make(chan struct{})
	}
}

// Resume ends a pause.
func (p *Process) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asleep != nil {
		close(p.asleep)
		p.asleep = nil
	}
}

// Kill ends the process. Its sent messages still arrive.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Dead() {
		close(p.dead)
	}
}

// Died is closed when the process is killed.
func (p *Process) Died() <-chan struct{} { return p.dead }

// Dead reports whether the process was killed.
func (p *Process) Dead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// Cut keeps the process and a node apart; Reconnect undoes one Cut.
func (p *Process) Cut(node int) { p.keepApart(node, 1) }

// Reconnect undoes one Cut.
func (p *Process) Reconnect(node int) { p.keepApart(node, -1) }

func (p *Process) keepApart(node, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[node] += by
}

func (p *Process) cutFrom(node int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[node] > 0
}

// number distinguishes messages of the same content.
func (p *Process) number(content uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.sent[content]
	p.sent[content] = n + 1
	return content + n
}
