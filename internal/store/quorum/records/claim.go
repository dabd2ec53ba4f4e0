package records

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/quorate/quorate/locking"
)

// A Claim is what COMMIT stores. Nodes store it as packed by the client, so it can also
// serve as the record of a run that started.
type Claim struct {
	Tick     int64 // ms; 0 for a plain lock
	Token    uint64
	Owner    string // the try's random value
	Mode     locking.Mode
	Attempt  int
	Overlaps bool
	Stream   string
	Holder   string
	Note     string // the scheduler's JSON
}

// fields is the number of fields before the note.
const fields = 8

// Pack returns the stored form: "tick token v mode attempt overlaps stream
// holder|note". The holder is escaped; a plain lock has the tick "-".
func (c Claim) Pack() string {
	tick, mode, overlaps := "-", "0", "0"
	if c.Tick != 0 {
		tick = strconv.FormatInt(c.Tick, 10)
	}
	if c.Mode == locking.AtLeastOnce {
		mode = "1"
	}
	if c.Overlaps {
		overlaps = "1"
	}
	return strings.Join([]string{
		tick, strconv.FormatUint(c.Token, 10), c.Owner, mode, strconv.Itoa(c.Attempt), overlaps,
		c.Stream, url.QueryEscape(c.Holder),
	}, " ") + "|" + c.Note
}

// Unpack is the inverse of Pack. It returns an error for anything else.
func Unpack(packed string) (Claim, error) {
	head, note, found := strings.Cut(packed, "|")
	words := strings.Split(head, " ")
	if !found || len(words) != fields {
		return Claim{}, fmt.Errorf("not a packed claim: %.60q", packed)
	}
	r := reader{}
	c := Claim{
		Token: r.number(words[1]), Owner: words[2], Attempt: int(r.number(words[4])), Overlaps: words[5] == "1",
		Stream: words[6], Holder: r.word(words[7]), Note: note,
	}
	if words[0] != "-" {
		c.Tick = int64(r.number(words[0]))
	}
	if words[3] != "0" {
		c.Mode = locking.AtLeastOnce
	}
	if r.err != nil {
		return Claim{}, fmt.Errorf("unpacking a claim: %w", r.err)
	}
	return c, nil
}

// A reader converts fields and keeps the first error.
type reader struct{ err error }

func (r *reader) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 63)
	r.keep(err)
	return n
}

func (r *reader) word(text string) string {
	s, err := url.QueryUnescape(text)
	r.keep(err)
	return s
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}
