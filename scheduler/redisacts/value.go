package redisacts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// format is the version of the stored form of an act. A reader refuses a newer
// one and says so.
const format = 1

// States of a register; common.lua says what they mean.
const (
	reserved = "R"
	open     = "O"
	closed   = "C"
	standing = "P"
)

// keepResumed is how long a resume is kept: a node that was away for longer
// could bring the pause back.
const keepResumed = 90 * 24 * time.Hour

// A value is what a node keeps of one act.
type value struct {
	state    string
	at, last int64 // ms
	until    int64 // ms
	line     string
	print    string // fingerprint of the act
	rest     string // JSON of the act; of a reservation, who made it
}

func (v value) String() string {
	return fmt.Sprintf("%s|%d|%d|%d|%s|%s|%s", v.state, v.at, v.until, v.last, v.line, v.print, v.rest)
}

func parseValue(text string) (value, error) {
	p := strings.SplitN(text, "|", 7)
	if len(p) != 7 {
		return value{}, fmt.Errorf("not an act: %.40q", text)
	}
	v := value{state: p[0], line: p[4], print: p[5], rest: p[6]}
	for i, n := range []*int64{&v.at, &v.until, &v.last} {
		var err error
		if *n, err = strconv.ParseInt(p[1+i], 10, 64); err != nil {
			return value{}, fmt.Errorf("not an act: %.40q", text)
		}
	}
	return v, nil
}

// stored is the JSON of an act: the act, and the version of the form.
type stored struct {
	V int `json:"v"`
	scheduler.Act
}

// newValue is what nodes keep of an act.
func newValue(act scheduler.Act) (value, error) {
	text := new(bytes.Buffer)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // it would make texts up to six times as long
	if err := enc.Encode(stored{V: format, Act: act}); err != nil {
		return value{}, fmt.Errorf("encoding an act: %w", err)
	}
	v := value{
		state: standing, at: act.At.UnixMilli(), last: act.Last().UnixMilli(),
		line: lineOf(act), print: act.Fingerprint(), rest: strings.TrimSpace(text.String()),
	}
	switch {
	case act.Kind == scheduler.ActResume:
		v.until = act.At.Add(keepResumed).UnixMilli()
	case act.Kind == scheduler.ActPause:
	case act.Closed.IsZero():
		v.state, v.until = open, act.Expires().UnixMilli()
	default:
		v.state, v.until = closed, act.Expires().UnixMilli()
	}
	return v, nil
}

// act decodes the act of a value that is no reservation.
func (v value) act() (scheduler.Act, error) { return decode(v.rest) }

func decode(text string) (scheduler.Act, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return scheduler.Act{}, fmt.Errorf("decoding an act: %w", err)
	}
	if s.V > format {
		return scheduler.Act{}, fmt.Errorf("an act has version %d, this release reads up to %d: upgrade quorate", s.V, format)
	}
	return s.Act, nil
}

// register is the field in which a node keeps the act by its ID.
func register(act scheduler.Act) string {
	if act.Kind.Request() {
		return requestOf(act.ID)
	}
	return "k:" + act.ID
}

func requestOf(id string) string { return "a:" + id }

// standingOf is the field of the pause or resume that counts in a line.
func standingOf(line string) string { return "p:" + line }

// lineOf is the act's line in the form that values hold.
func lineOf(act scheduler.Act) string { return url.PathEscape(act.Line()) }
