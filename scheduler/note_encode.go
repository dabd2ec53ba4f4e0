package scheduler

import (
	"encoding/json"
	"strconv"

	"github.com/quorate/quorate/locking"
)

// encode writes what json.Marshal would. Every run does it twice, and without
// reflection it costs next to nothing.
func (n note) encode() []byte {
	w := noteWriter{append(make([]byte, 0, n.room()), `{"v":`...)}
	w.b = strconv.AppendInt(w.b, int64(n.V), 10)
	w.number(`,"tick":`, n.Tick)
	w.number(`,"tries":`, int64(n.Tries))
	w.number(`,"spent":`, int64(n.Spent))
	w.text(`,"trigger":`, string(n.Trigger))
	w.text(`,"parent":`, n.Parent)
	w.text(`,"replica":`, n.Replica)
	w.text(`,"outcome":`, string(n.Outcome))
	w.reason(n.Reason)
	w.number(`,"started":`, n.Started)
	w.number(`,"finished":`, n.Finished)
	w.text(`,"error":`, n.Error)
	w.number(`,"stale":`, int64(n.Stale))
	w.votes(n.Votes)
	w.text(`,"hash":`, n.Hash)
	w.poll(n.Poll)
	w.beats(n.Beats)
	return append(w.b, '}')
}

// room is about how long the stored form is, rather more than less.
func (n *note) room() int {
	const begun, ended, polled = 96, 66, 48 // without the texts
	room := begun + len(n.Parent) + len(n.Replica) + len(n.Error) + len(n.Hash)
	if !n.Poll.IsZero() {
		room += polled + len(n.Poll.Said)
	}
	if n.Finished != 0 {
		room += ended
	}
	return room
}

// A noteWriter writes fields that are not empty, each with its name as it stands after
// another: in quotes, between a comma and a colon.
type noteWriter struct{ b []byte }

func (w *noteWriter) number(field string, n int64) {
	if n != 0 {
		w.b = append(w.b, field...)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *noteWriter) votes(v locking.Votes) {
	if v == (locking.Votes{}) {
		return
	}
	w.b = append(w.b, `,"votes":{"For":`...)
	w.b = strconv.AppendInt(w.b, int64(v.For), 10)
	w.b = append(w.b, `,"Of":`...)
	w.b = strconv.AppendInt(w.b, int64(v.Of), 10)
	w.b = append(w.b, '}')
}

func (w *noteWriter) poll(p pollNote) {
	if p.IsZero() {
		return
	}
	w.b = append(w.b, `,"poll":{"n":"`...)
	for _, a := range p.Answers {
		if a != 0 {
			w.b = append(w.b, byte(a))
		}
	}
	w.b = append(w.b, '"')
	w.number(`,"r":`, int64(p.Rounds))
	w.number(`,"l":`, int64(p.List))
	w.text(`,"s":`, p.Said)
	w.b = append(w.b, '}')
}

// reason is what only ticks have that did not run, and runs that ended early.
func (w *noteWriter) reason(r *reasonNote) {
	if r == nil {
		return
	}
	w.b = append(w.b, `,"reason":`...)
	text, _ := json.Marshal(r) // numbers and strings always encode
	w.b = append(w.b, text...)
}

// beats are what only runs have that last.
func (w *noteWriter) beats(b *beatsNote) {
	if b == nil {
		return
	}
	w.b = append(w.b, `,"beats":`...)
	text, _ := json.Marshal(b) // numbers and strings always encode
	w.b = append(w.b, text...)
}

func (w *noteWriter) text(field, text string) {
	if text == "" {
		return
	}
	w.b = append(w.b, field...)
	if !plain(text) {
		quoted, _ := json.Marshal(text) // strings always encode
		w.b = append(w.b, quoted...)
		return
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, text...)
	w.b = append(w.b, '"')
}

// plain tells whether JSON writes text as it stands.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
