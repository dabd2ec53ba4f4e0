package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An event is one server-sent event.
type event struct {
	name string // run, tick, act, replica
	data []byte
}

// Bounds of the events.
const (
	beatEvery   = 15 * time.Second // keeps the connection through proxies
	sendWithin  = 30 * time.Second // then the listener is dropped
	maxQueued   = 256              // per listener; a slower one is dropped
	polledRows  = 50               // entries and acts per poll
	shareOfTime = 10               // polls take at most 1/10 of the time
)

// A hub polls events for all listeners, and only while there are any.
type hub struct {
	server *API
	ending context.Context
	end    context.CancelFunc
	nudged chan struct{}
	wg     sync.WaitGroup

	mu        sync.Mutex
	listeners map[chan event]bool
	reading   bool
}

func newHub(a *API) *hub {
	h := &hub{server: a, nudged: make(chan struct{}, 1), listeners: map[chan event]bool{}}
	h.ending, h.end = context.WithCancel(context.Background())
	return h
}

func (h *hub) close() {
	h.end()
	h.wg.Wait()
}

// join adds a listener.
func (h *hub) join() chan event {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan event, maxQueued)
	h.listeners[ch] = true
	if !h.reading && h.ending.Err() == nil {
		h.reading = true
		h.wg.Go(h.read)
	}
	return ch
}

func (h *hub) leave(ch chan event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[ch] {
		delete(h.listeners, ch)
		close(ch)
	}
}

// broadcast queues an event for all listeners. A listener with a full queue is
// disconnected; its client connects again.
func (h *hub) broadcast(name string, row any) {
	data, err := json.Marshal(row)
	if err != nil {
		h.server.cfg.Logger.Error("an event cannot be written", "event", name, "why", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.listeners {
		select {
		case ch <- event{name, data}:
		default:
			delete(h.listeners, ch)
			close(ch)
		}
	}
}

// idle reports whether there are no listeners, so the poller ends.
func (h *hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) > 0 && h.ending.Err() == nil {
		return false
	}
	h.reading = false
	return true
}

// read polls until there are no listeners.
func (h *hub) read() {
	last := new(seen)
	for !h.idle() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(h.ending, h.server.cfg.Timeout)
		h.poll(ctx, last)
		cancel()
		h.pause(time.Since(began))
	}
}

// pause waits until the next poll, or until Nudge.
func (h *hub) pause(took time.Duration) {
	least := time.After(max(h.server.cfg.Poll/10, shareOfTime*took))
	select {
	case <-time.After(max(h.server.cfg.Poll, shareOfTime*took)):
	case <-h.nudged:
		select {
		case <-least:
		case <-h.ending.Done():
		}
	case <-h.ending.Done():
	}
}

// poll reads and sends the changes. Without a quorum there are none.
func (h *hub) poll(ctx context.Context, last *seen) {
	control := h.server.cfg.Control
	page, err := control.Recent(ctx, view.RecentQuery{Limit: polledRows, Ticks: true})
	if err == nil {
		last.ticks = broadcastNew(h, last.ticks, page.Entries, tickEvent)
	}
	acts, err := control.Audit(ctx, polledRows)
	if err == nil {
		last.acts = broadcastNew(h, last.acts, acts, func(a view.Act) (string, string, any) {
			return fmt.Sprint(a.ID, a.Closed != nil), "act", a
		})
	}
	replicas, err := control.Replicas(ctx)
	if err == nil {
		last.replicas = broadcastNew(h, last.replicas, replicas, func(r view.Replica) (string, string, any) {
			return fmt.Sprint(r.ID, r.State, r.Running, view.Text(r.ConfigHash)), "replica", r
		})
	}
}

// tickEvent is a run, or a tick that did not run.
func tickEvent(e ledger.Entry) (key, name string, row any) {
	tick := view.NewTick(e)
	if tick.ID == nil {
		return fmt.Sprint(e.ID(), e.Outcome), "tick", tick
	}
	return fmt.Sprint(e.ID(), e.Token, e.Outcome), "run", tick
}

// seen are the keys of the last poll's rows; nil before the first.
type seen struct{ ticks, acts, replicas map[string]bool }

// broadcastNew sends the rows that are new or changed since the last poll, last row first;
// none at the first poll. It returns the current keys.
func broadcastNew[R any](h *hub, last map[string]bool, rows []R, event func(R) (key, name string, row any)) map[string]bool {
	now := map[string]bool{}
	for _, r := range slices.Backward(rows) {
		key, name, row := event(r)
		if now[key] = true; last != nil && !last[key] {
			h.broadcast(name, row)
		}
	}
	return now
}

// serveEvents sends events until the stream ends.
func (a *API) serveEvents(w http.ResponseWriter, r *http.Request) {
	to := a.openStream(w, r)
	if to == nil {
		return
	}
	defer to.close()
	ch := a.events.join()
	defer a.events.leave(ch)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for going := to.begin(); going; {
		select {
		case e, open := <-ch:
			going = open && to.write("event: "+e.name+"\ndata: "+string(e.data)+"\n\n")
		case <-beat.C:
			going = to.beat()
		case <-to.ctx.Done():
			return
		}
	}
}
