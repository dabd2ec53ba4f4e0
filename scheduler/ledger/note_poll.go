package ledger

import (
	"encoding/json"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
)

// A pollNote is the stored form of a Poll: a letter for each node. The number identifies
// the list of node names.
type pollNote locking.Poll

type pollJSON struct {
	Letters string `json:"n"`
	Rounds  uint8  `json:"r,omitempty"`
	List    uint32 `json:"l,omitempty"`
	Errors  string `json:"s,omitempty"`
}

// IsZero reports whether nothing is known.
func (p pollNote) IsZero() bool { return p.Answers[0] == 0 }

// MarshalJSON implements json.Marshaler.
func (p pollNote) MarshalJSON() ([]byte, error) {
	poll := locking.Poll(p)
	return plainjson.Marshal(pollJSON{poll.Letters(), p.Rounds, p.List, p.Errors})
}

// UnmarshalJSON implements json.Unmarshaler. Unknown letters stay: a later release may have
// more.
func (p *pollNote) UnmarshalJSON(b []byte) error {
	var stored pollJSON
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	*p = pollNote{Rounds: stored.Rounds, List: stored.List, Errors: stored.Errors, Answers: answersOf(stored.Letters)}
	return nil
}

func answersOf(letters string) (answers [locking.MostNodes]locking.Answer) {
	for i := range min(len(letters), len(answers)) {
		answers[i] = locking.Answer(letters[i])
	}
	return answers
}

// beatsNote is the stored form of Beats; times count from the start of the run, in
// milliseconds.
type beatsNote struct {
	Count  int        `json:"n"`
	Failed int        `json:"f,omitempty"`
	Least  beatNote   `json:"least"`
	Lapse  *beatNote  `json:"lapse,omitempty"`
	Why    string     `json:"why,omitempty"`
	Last   []beatNote `json:"last"`
}

// maxWhy bounds the reason of a failed extension, in bytes.
const maxWhy = 500

type beatNote struct {
	At      int64  `json:"t"`
	Left    int64  `json:"l"`
	Took    int64  `json:"d"`
	Failed  bool   `json:"x,omitempty"`
	Letters string `json:"n,omitempty"`
}

func newBeatsNote(b *Beats, started time.Time) *beatsNote {
	if b == nil {
		return nil
	}
	from := millis(started)
	n := &beatsNote{Count: b.Count, Failed: b.Failed, Least: newBeatNote(b.Least, from), Why: clipTo(b.Why, maxWhy), Last: make([]beatNote, len(b.Last))}
	if b.Failed > 0 {
		lapse := newBeatNote(b.Lapse, from)
		n.Lapse = &lapse
	}
	for i, one := range b.Last {
		n.Last[i] = newBeatNote(one, from)
	}
	return n
}

func newBeatNote(b Beat, from int64) beatNote {
	letters := locking.Poll{Answers: b.Answers}
	return beatNote{millis(b.At) - from, b.Left.Milliseconds(), b.Took.Milliseconds(), b.Failed, letters.Letters()}
}

func (n *beatsNote) beats(started time.Time) *Beats {
	if n == nil || len(n.Last) == 0 { // the second is a record of others
		return nil
	}
	from := millis(started)
	b := &Beats{Count: n.Count, Failed: n.Failed, Least: n.Least.beat(from), Why: n.Why, Last: make([]Beat, len(n.Last))}
	if n.Lapse != nil {
		b.Lapse = n.Lapse.beat(from)
	}
	for i, one := range n.Last {
		b.Last[i] = one.beat(from)
	}
	return b
}

func (n beatNote) beat(from int64) Beat {
	return Beat{
		At: fromMillis(from + n.At), Left: time.Duration(n.Left) * time.Millisecond, Took: time.Duration(n.Took) * time.Millisecond,
		Failed: n.Failed, Answers: answersOf(n.Letters),
	}
}
