package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// liveParts is how many looks at a run of this replica there are in Config.Poll.
const liveParts = 4

// A follower sends what happens to one run until that has ended.
type follower struct {
	*Server
	to    *stream
	found *listing.Found
	token locking.Token // of the attempt that it follows

	at    int // how far the log was sent, in bytes from its beginning
	beats int
}

// serveRunEvents sends the lines that a run logs, and its extensions, and at the end
// how it ended.
func (s *Server) serveRunEvents(w http.ResponseWriter, r *http.Request) {
	to := s.openStream(w, r)
	if to == nil {
		return
	}
	defer to.close()
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	found, err := s.cfg.Control.Find(ctx, r.PathValue("run"))
	cancel()
	if err != nil {
		s.explain(r, err).write(w)
		return
	}
	f := &follower{Server: s, to: to, found: found, at: position(r)}
	if to.begin() {
		f.follow(to.ctx)
	}
}

// position is up to where who asks has the log: after, or the last event that a
// browser has seen.
func position(r *http.Request) int {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// follow looks again and again. While no quorum answers nothing is known to have
// happened.
func (f *follower) follow(ctx context.Context) {
	for sent := time.Now(); ; {
		began := time.Now()
		pause, going := f.look(ctx, &sent)
		if !going {
			return
		}
		if time.Since(sent) > beatEvery {
			if sent = time.Now(); !f.to.beat() {
				return
			}
		}
		select {
		case <-time.After(max(pause, shareOfTime*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

// look sends what is new. It returns when to look again; false: never.
func (f *follower) look(ctx context.Context, sent *time.Time) (pause time.Duration, going bool) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	e := f.found.Attempts[0]
	log, live, err := f.soFar(ctx, f.found, e)
	if !live {
		if f.found.Again(ctx) != nil {
			return f.cfg.Poll, true
		}
		if e = f.found.Attempts[0]; e.Outcome != scheduler.Running { // its log may be longer now
			log, _, err = f.soFar(ctx, f.found, e)
		}
	}
	if f.token != 0 && f.token != e.Token {
		f.at, f.beats = 0, 0 // another attempt has begun
	}
	f.token = e.Token
	if err == nil && !f.send(log, sent) {
		return 0, false
	}
	switch {
	case e.Outcome != scheduler.Running:
		f.tell("finished", listing.NewTick(e), sent)
		return 0, false
	case live:
		return f.cfg.Poll / liveParts, true
	}
	return f.cfg.Poll, true
}

// A logPart is what was logged since the last one.
type logPart struct {
	Cut  int    `json:"cut"` // bytes before the text that are not kept
	Text string `json:"text"`
}

// send sends what was logged, and the last extension, if they are new.
func (f *follower) send(log scheduler.Log, sent *time.Time) bool {
	if end := log.Cut + len(log.Text); end > f.at {
		part := logPart{Text: log.Text}
		if missed := log.Cut - f.at; missed > 0 {
			part.Cut = missed
		} else {
			part.Text = log.Text[-missed:]
		}
		f.at = end
		if !f.tell("log", part, sent) {
			return false
		}
	}
	row := listing.NewBeats(log.Run.Beats)
	if row == nil || row.Count == f.beats {
		return true
	}
	f.beats = row.Count
	return f.tell("beat", row.Last[len(row.Last)-1], sent)
}

// tell sends an event; who comes again says where it stood.
func (f *follower) tell(name string, row any, sent *time.Time) bool {
	data, err := json.Marshal(row)
	if err != nil {
		f.cfg.Logger.Error("an event cannot be written", "event", name, "why", err)
		return false
	}
	*sent = time.Now()
	return f.to.write("id: " + strconv.Itoa(f.at) + "\nevent: " + name + "\ndata: " + string(data) + "\n\n")
}
