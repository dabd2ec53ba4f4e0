package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// liveParts is how many polls of a run of this replica there are per Config.Poll.
const liveParts = 4

// A follower sends the events of one run until it has ended.
type follower struct {
	*API
	to    *stream
	found *view.Found
	token locking.Token // of the attempt that it follows

	at    int // bytes of the log that were sent
	beats int
	sent  time.Time // when it last wrote something
}

// serveRunEvents streams the log of a run, its extensions, and its end.
func (a *API) serveRunEvents(w http.ResponseWriter, r *http.Request) {
	to := a.openStream(w, r)
	if to == nil {
		return
	}
	defer to.close()
	ctx, cancel := context.WithTimeout(r.Context(), a.cfg.Timeout)
	found, err := a.cfg.Control.Find(ctx, r.PathValue("run"))
	cancel()
	if err != nil {
		a.Explain(r, err).Write(w)
		return
	}
	f := &follower{API: a, to: to, found: found, at: position(r)}
	if to.begin() {
		f.follow(to.ctx)
	}
}

// position is the client's position in the log: after, or a browser's last event ID.
func position(r *http.Request) int {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// follow polls. While no quorum answers there are no events.
func (f *follower) follow(ctx context.Context) {
	for f.sent = time.Now(); ; {
		began := time.Now()
		pause, going := f.poll(ctx)
		if !going {
			return
		}
		if time.Since(f.sent) > beatEvery {
			if f.sent = time.Now(); !f.to.beat() {
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

// poll sends new events. It returns the pause before the next poll; false: no more polls.
func (f *follower) poll(ctx context.Context) (pause time.Duration, going bool) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	e := f.found.Attempts[0]
	log, live, err := f.found.LogSoFar(ctx, e)
	if !live {
		if f.found.Refresh(ctx) != nil {
			return f.cfg.Poll, true
		}
		if e = f.found.Attempts[0]; e.Outcome != ledger.Running { // its log may have grown
			log, _, err = f.found.LogSoFar(ctx, e)
		}
	}
	if f.token != 0 && f.token != e.Token {
		f.at, f.beats = 0, 0 // another attempt has begun
	}
	f.token = e.Token
	if err == nil && !f.send(log) {
		return 0, false
	}
	switch {
	case e.Outcome != ledger.Running:
		f.sendEvent("finished", view.NewTick(e))
		return 0, false
	case live:
		return f.cfg.Poll / liveParts, true
	}
	return f.cfg.Poll, true
}

// A logPart is the part of a log since the last event.
type logPart struct {
	Cut  int    `json:"cut"` // dropped bytes before the text
	Text string `json:"text"`
}

// send sends the new part of the log and the last extension.
func (f *follower) send(log ledger.Log) bool {
	if end := log.Cut + len(log.Text); end > f.at {
		part := logPart{Text: log.Text}
		if missed := log.Cut - f.at; missed > 0 {
			part.Cut = missed
		} else {
			part.Text = log.Text[-missed:]
		}
		f.at = end
		if !f.sendEvent("log", part) {
			return false
		}
	}
	row := view.NewBeats(log.Run.Beats)
	if row == nil || row.Count == f.beats {
		return true
	}
	f.beats = row.Count
	return f.sendEvent("beat", row.Last[len(row.Last)-1])
}

// sendEvent sends an event with the position in the log as its ID.
func (f *follower) sendEvent(name string, row any) bool {
	data, err := json.Marshal(row)
	if err != nil {
		f.cfg.Logger.Error("an event cannot be written", "event", name, "why", err)
		return false
	}
	f.sent = time.Now()
	return f.to.write("id: " + strconv.Itoa(f.at) + "\nevent: " + name + "\ndata: " + string(data) + "\n\n")
}
