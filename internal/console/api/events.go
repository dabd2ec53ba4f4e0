package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// clientShare is the share of the streams that one client may open.
const clientShare = 4

// openStreams bounds the open streams, in total and per client.
type openStreams struct {
	mu    sync.Mutex
	total int
	taken map[string]int // by client
}

// reserve reserves a stream for a client; false if there is none left.
func (p *openStreams) reserve(client string, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= most || p.taken[client] >= max(1, most/clientShare) {
		return false
	}
	p.total++
	p.taken[client]++
	return true
}

func (p *openStreams) release(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.taken[client]--; p.taken[client] == 0 {
		delete(p.taken, client)
	}
}

// A stream sends events until its context ends.
type stream struct {
	server  *API
	w       http.ResponseWriter
	r       *http.Request
	out     *http.ResponseController
	ctx     context.Context // ends with the client, the server, and the right to read
	close   func()
	checked time.Time // last check of the user
}

// openStream admits a request for events, or refuses it and returns nil. The stream ends
// when the users are replaced, so that clients connect and log in again.
func (a *API) openStream(w http.ResponseWriter, r *http.Request) *stream {
	valid := a.gate.Valid() // before Admit, so that no change is lost
	id, wrong := a.gate.Admit(r, identity.Viewer, "")
	if wrong == nil && !a.openStreams.reserve(gate.Client(id), a.cfg.Listeners) {
		wrong = problem.New(http.StatusServiceUnavailable, "too_many", "too many event streams are open on this replica, or too many of yours; close some, use another replica, or read the listings")
		wrong.Wait = beatEvery
	}
	if wrong != nil {
		wrong.Write(w)
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	unlinkUsers := context.AfterFunc(valid, cancel)
	unlinkServer := context.AfterFunc(a.events.ending, cancel)
	return &stream{
		server: a, w: w, r: r, out: http.NewResponseController(w), ctx: ctx, checked: time.Now(),
		close: func() {
			unlinkUsers()
			unlinkServer()
			cancel()
			a.openStreams.release(gate.Client(id))
		},
	}
}

// begin sends the headers.
func (s *stream) begin() bool {
	_ = s.out.SetReadDeadline(time.Time{}) // the server's is too short; not every writer has one
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	return s.write("retry: 2000\n: quorate\n\n")
}

// beat keeps the connection alive; false ends the stream.
func (s *stream) beat() bool { return s.write(": beat\n\n") }

// write sends text at once; false if the client is gone, does not read, or may no longer
// read. Config.Identify is called again from time to time, since sessions end unannounced.
func (s *stream) write(text string) bool {
	if s.server.gate.HasSessions() && time.Since(s.checked) > beatEvery/2 {
		s.checked = time.Now()
		if id, wrong := s.server.gate.Identify(s.r); wrong != nil || !id.Role.Allows(identity.Viewer) {
			return false
		}
	}
	_ = s.out.SetWriteDeadline(time.Now().Add(sendWithin)) // not every writer has one
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.out.Flush() == nil
}

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
	polledRows  = 50               // entries and commands per poll
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
	page, err := control.Recent(ctx, view.EntryQuery{Limit: polledRows, Ticks: true})
	if err == nil {
		last.ticks = broadcastNew(h, last.ticks, page.Entries, tickEvent)
	}
	commands, err := control.LatestCommands(ctx, polledRows)
	if err == nil {
		last.commands = broadcastNew(h, last.commands, commands, func(a view.Command) (string, string, any) {
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
type seen struct{ ticks, commands, replicas map[string]bool }

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
