package web

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// clientShare is the part of all places for streams that one client may take.
const clientShare = 4

// places bounds the streams that are open: all of them, and those of one client.
type places struct {
	mu    sync.Mutex
	total int
	taken map[string]int // by client
}

// take takes a place for a client; false if there is none left for it.
func (p *places) take(client string, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= most || p.taken[client] >= max(1, most/clientShare) {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.total++
	p.taken[client]++
	return true
}

func (p *places) free(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.taken[client]--; p.taken[client] == 0 {
		delete(p.taken, client)
	}
}

// client tells apart who takes places: users by name, others by where they are.
func (id Identity) client() string {
	if id.Name != "" {
		return "user " + id.Name
	}
	return "address " + network(id.Address)
}

// A stream is an answer of events that lasts until its context ends.
type stream struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	out    *http.ResponseController
	ctx    context.Context // ends with the client, the server, and the right to read
	close  func()
	asked  time.Time // when it was last asked who reads
}

// openStream admits a request for events, or answers why not and returns nil. The
// stream ends when the users are replaced: clients connect again and say anew who
// they are.
func (s *Server) openStream(w http.ResponseWriter, r *http.Request) *stream {
	users := s.users.Load() // before it is asked who may read
	id, wrong := s.admit(r, route{role: Viewer})
	if wrong == nil && !s.places.take(id.client(), s.cfg.Listeners) {
		wrong = newProblem(http.StatusServiceUnavailable, "too_many", "too many streams of events are open on this replica, or too many of yours; close some, ask another replica, or read the listings")
		wrong.wait = beatEvery
	}
	if wrong != nil {
		wrong.write(w)
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	untie := context.AfterFunc(users.valid, cancel)
	unhook := context.AfterFunc(s.events.ending, cancel)
	return &stream{
		server: s, w: w, r: r, out: http.NewResponseController(w), ctx: ctx, asked: time.Now(),
		close: func() {
			untie()
			unhook()
			cancel()
			s.places.free(id.client())
		},
	}
}

// begin sends the head of the answer.
func (s *stream) begin() bool {
	_ = s.out.SetReadDeadline(time.Time{}) // that of the server does not fit; not every writer has one
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	return s.write("retry: 2000\n: quorate\n\n")
}

// beat keeps the connection; false ends the stream.
func (s *stream) beat() bool { return s.write(": beat\n\n") }

// write sends text now; false if the client has gone, does not read any more, or may
// not. A service that identifies its users itself is asked again now and then: nothing
// tells this server when a session of it ends.
func (s *stream) write(text string) bool {
	if s.server.cfg.Identify != nil && time.Since(s.asked) > beatEvery/2 {
		s.asked = time.Now()
		if id, wrong := s.server.identify(s.r); wrong != nil || !id.Role.Allows(Viewer) {
			return false
		}
	}
	_ = s.out.SetWriteDeadline(time.Now().Add(sendWithin)) // not every writer has one
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.out.Flush() == nil
}
