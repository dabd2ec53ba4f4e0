package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/identity"
)

// clientShare is the share of the streams that one client may open.
const clientShare = 4

// places bounds the open streams, in total and per client.
type places struct {
	mu    sync.Mutex
	total int
	taken map[string]int // by client
}

// take reserves a stream for a client; false if there is none left.
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

// A stream sends events until its context ends.
type stream struct {
	server *API
	w      http.ResponseWriter
	r      *http.Request
	out    *http.ResponseController
	ctx    context.Context // ends with the client, the server, and the right to read
	close  func()
	asked  time.Time // last check of the user
}

// openStream admits a request for events, or refuses it and returns nil. The stream ends
// when the users are replaced, so that clients connect and log in again.
func (a *API) openStream(w http.ResponseWriter, r *http.Request) *stream {
	valid := a.gate.Valid() // before Admit, so that no change is lost
	id, wrong := a.gate.Admit(r, identity.Viewer, "")
	if wrong == nil && !a.places.take(gate.Client(id), a.cfg.Listeners) {
		wrong = problem.New(http.StatusServiceUnavailable, "too_many", "too many event streams are open on this replica, or too many of yours; close some, use another replica, or read the listings")
		wrong.Wait = beatEvery
	}
	if wrong != nil {
		wrong.Write(w)
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	untie := context.AfterFunc(valid, cancel)
	unhook := context.AfterFunc(a.events.ending, cancel)
	return &stream{
		server: a, w: w, r: r, out: http.NewResponseController(w), ctx: ctx, asked: time.Now(),
		close: func() {
			untie()
			unhook()
			cancel()
			a.places.free(gate.Client(id))
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
	if s.server.gate.HasSessions() && time.Since(s.asked) > beatEvery/2 {
		s.asked = time.Now()
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
