package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// An event is something that has happened.
type event struct {
	name string // run, tick, act, replica
	data []byte
}

// Bounds of the events.
const (
	beatEvery   = 15 * time.Second // so that proxies keep the connection
	sendWithin  = 30 * time.Second // or the listener is given up
	queuedMost  = 256              // of one listener, who is sent away if it reads too slowly
	lookedBack  = 50               // entries and acts that a look reads
	shareOfTime = 10               // a look may take this part of the time
)

// A hub reads what happens, once for all who listen, and only while somebody does.
type hub struct {
	server *Server
	ending context.Context
	end    context.CancelFunc
	nudged chan struct{}
	wg     sync.WaitGroup

	mu        sync.Mutex
	listeners map[chan event]bool
	reading   bool
}

func newHub(s *Server) *hub {
	h := &hub{server: s, nudged: make(chan struct{}, 1), listeners: map[chan event]bool{}}
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
	ch := make(chan event, queuedMost)
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

// tell sends an event to all who listen. Who has not read what came before loses
// its connection, and comes again.
func (h *hub) tell(name string, row any) {
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

// deserted tells whether nobody listens any more; then the reader ends.
func (h *hub) deserted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.listeners) > 0 && h.ending.Err() == nil {
		return false
	}
	h.reading = false
	return true
}

// read looks again and again.
func (h *hub) read() {
	last := new(seen)
	for !h.deserted() {
		began := time.Now()
		ctx, cancel := context.WithTimeout(h.ending, h.server.cfg.Timeout)
		h.look(ctx, last)
		cancel()
		h.pause(time.Since(began))
	}
}

// pause waits until the next look, less long if this replica has something to tell.
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

// Observer makes events of what this replica does come sooner, and remembers the
// contests that it loses.
func (s *Server) Observer() scheduler.Observer {
	nudge := func() {
		select {
		case s.events.nudged <- struct{}{}:
		default: // one is enough
		}
	}
	return scheduler.Observer{
		Claimed:  func(string, locking.Claim, time.Duration) { nudge() },
		Finished: func(scheduler.Entry, error) { nudge() },
		Recorded: func(scheduler.Entry, error) { nudge() },
		Lost: func(job string, tick time.Time, _ error) {
			s.contests.add(contest{job: job, tick: tick, at: time.Now()})
		},
	}
}

// look tells what has changed since the last look. While no quorum answers nothing
// is known to have.
func (h *hub) look(ctx context.Context, last *seen) {
	control := h.server.cfg.Control
	page, err := control.Recent(ctx, listing.RecentQuery{Limit: lookedBack, Ticks: true})
	if listing.Whole(err) == nil {
		last.ticks = tellNew(h, last.ticks, page.Entries, tickEvent)
	}
	acts, err := control.Audit(ctx, lookedBack)
	if listing.Whole(err) == nil {
		last.acts = tellNew(h, last.acts, acts, func(a listing.Act) (string, string, any) {
			return fmt.Sprint(a.ID, a.Closed != nil), "act", a
		})
	}
	replicas, err := control.Replicas(ctx)
	if listing.Whole(err) == nil {
		last.replicas = tellNew(h, last.replicas, replicas, func(r listing.Replica) (string, string, any) {
			return fmt.Sprint(r.ID, r.State, r.Running, listing.Text(r.ConfigHash)), "replica", r
		})
	}
}

// tickEvent is a run, or a tick that did not run.
func tickEvent(e scheduler.Entry) (key, name string, row any) {
	tick := listing.NewTick(e)
	if tick.ID == nil {
		return fmt.Sprint(e.ID(), e.Outcome), "tick", tick
	}
	return fmt.Sprint(e.ID(), e.Token, e.Outcome), "run", tick
}

// seen are the keys of what the last look has found; nil before the first.
type seen struct{ ticks, acts, replicas map[string]bool }

// tellNew tells the rows that were not there, or not as they are, at the last look,
// the last one first, and none the first time. It returns what there is now.
func tellNew[R any](h *hub, last map[string]bool, rows []R, event func(R) (key, name string, row any)) map[string]bool {
	now := map[string]bool{}
	for _, r := range slices.Backward(rows) {
		key, name, row := event(r)
		if now[key] = true; last != nil && !last[key] {
			h.tell(name, row)
		}
	}
	return now
}

// serveEvents sends events until the stream ends.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	to := s.openStream(w, r)
	if to == nil {
		return
	}
	defer to.close()
	ch := s.events.join()
	defer s.events.leave(ch)
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
