package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Weather is what the network does to messages. The shares are of all requests
// and of all replies, each on its own.
type Weather struct {
	Delay time.Duration // the longest usual delay
	Lost  float64
	Late  float64       // that take up to Lag more
	Twice float64       // requests that come a second time, up to Lag later
	Lag   time.Duration // far longer than anybody waits
}

// A Request is one script for one node: its name, its KEYS and ARGV. INFO is a
// script, too.
type Request struct {
	Node   int
	Script string
	Keys   []string
	Args   []string
}

// Info is the name of the script that asks for INFO.
const Info = "INFO"

var (
	errRefused = errors.New("connection refused")
	errDied    = errors.New("the process has died")
)

// An answer is what comes back of a request.
type answer struct {
	fields []string
	err    error
}

// Call sends a request and waits for its reply, at most until ctx ends. A
// process that is paused comes back when it is not any more, a dead one at once.
// Meanwhile, and afterwards, the network does as it likes with the message.
func (p *Process) Call(ctx context.Context, r Request) ([]string, error) {
	id := p.number(digest(append(append([]string{p.Name, r.Script, p.world.Nodes[r.Node].Name}, r.Keys...), r.Args...)...))
	if !p.awakeFor(id) {
		return nil, errDied
	}
	back := make(chan answer, 2) // it may come twice
	p.send(id, r, back)
	var got answer
	select {
	case got = <-back:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
		stumble(id)
	case <-p.dead:
		got.err = errDied
	}
	if !p.awakeFor(id) {
		return nil, errDied
	}
	return got.fields, got.err
}

// stumble takes less than a millisecond. Without it what ends at the same
// instant, by a timeout or with a pause, would go on in any order.
func stumble(id uint64) { time.Sleep(time.Duration(scramble(id) % uint64(time.Millisecond))) }

// awakeFor is Awake for the handler of a message.
func (p *Process) awakeFor(id uint64) bool {
	if p.paused() {
		p.Awake()
		stumble(id)
	}
	return p.Awake()
}

// send puts the request, and perhaps its double, on the way.
func (p *Process) send(id uint64, r Request, back chan answer) {
	w, now := p.world, time.Now()
	w.sent(r.Script)
	luck, weather := w.Seed.draw(id), w.weather()
	delay, ok := w.travel(luck, weather)
	if ok {
		key := scramble(id)
		w.at(now.Add(delay), key, func() { p.arrive(r, back, key) })
	}
	if luck.Float64() < weather.Twice {
		w.History.count(Doubled)
		key, later := scramble(id+1), time.Duration(luck.Float64()*float64(weather.Lag))
		w.at(now.Add(delay+later), key, func() { p.arrive(r, back, key) })
	}
}

// arrive hands the request to its node. It runs on the world's goroutine.
func (p *Process) arrive(r Request, back chan answer, key uint64) {
	w, n := p.world, p.world.Nodes[r.Node]
	if p.cutFrom(r.Node) {
		return
	}
	n.handle(key, func(got answer) {
		luck := w.Seed.draw(key)
		delay, ok := w.travel(luck, w.weather())
		if !ok || p.cutFrom(r.Node) {
			return
		}
		w.at(time.Now().Add(delay), key, func() {
			select {
			case back <- got:
			default:
			}
		})
	}, r)
}

// travel decides how long a message takes; ok is false if it never arrives.
func (w *World) travel(luck *rand.Rand, weather Weather) (delay time.Duration, ok bool) {
	delay = 50*time.Microsecond + time.Duration(luck.Float64()*luck.Float64()*float64(weather.Delay))
	switch fate := luck.Float64(); {
	case fate < weather.Lost:
		w.History.count(Lost)
		return 0, false
	case fate < weather.Lost+weather.Late:
		w.History.count(Delayed)
		delay += time.Duration(luck.Float64() * float64(weather.Lag))
	}
	return delay, true
}
