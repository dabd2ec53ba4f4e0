package redisacts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

// format is the version of the stored form of an act. A reader refuses newer ones.
const format = 1

// States of a register, see common.lua.
const (
	reserved      = "R"
	open          = "O"
	closed        = "C"
	pauseOrResume = "P"
)

// keepResumed is how long a resume is kept: a node that was away for longer could bring
// the pause back.
const keepResumed = 90 * 24 * time.Hour

// A value is one act as nodes store it.
type value struct {
	state    string
	at, last int64 // ms
	until    int64 // ms
	line     string
	print    string // fingerprint of the act
	rest     string // JSON of the act; of a reservation, its owner
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

// stored is the JSON of an act with the version of the form.
type stored struct {
	V int `json:"v"`
	acts.Act
}

// newValue returns the stored form of an act.
func newValue(act acts.Act) (value, error) {
	text := new(bytes.Buffer)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false) // escaping would make texts up to six times as long
	if err := enc.Encode(stored{V: format, Act: act}); err != nil {
		return value{}, fmt.Errorf("encoding an act: %w", err)
	}
	v := value{
		state: pauseOrResume, at: act.At.UnixMilli(), last: act.Last().UnixMilli(),
		line: lineOf(act), print: act.Fingerprint(), rest: strings.TrimSpace(text.String()),
	}
	switch {
	case act.Kind == acts.Resume:
		v.until = act.At.Add(keepResumed).UnixMilli()
	case act.Kind == acts.Pause:
	case act.Closed.IsZero():
		v.state, v.until = open, act.Expires().UnixMilli()
	default:
		v.state, v.until = closed, act.Expires().UnixMilli()
	}
	return v, nil
}

// act decodes the act of a value. The value must not be a reservation.
func (v value) act() (acts.Act, error) { return decode(v.rest) }

func decode(text string) (acts.Act, error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return acts.Act{}, fmt.Errorf("decoding an act: %w", err)
	}
	if s.V > format {
		return acts.Act{}, fmt.Errorf("an act has version %d, this release reads up to %d: upgrade quorate", s.V, format)
	}
	return s.Act, nil
}

// register is the field that stores the act by its ID.
func register(act acts.Act) string {
	if act.Kind.Request() {
		return requestOf(act.ID)
	}
	return "k:" + act.ID
}

func requestOf(id string) string { return "a:" + id }

// pauseField is the field of a line's latest pause or resume.
func pauseField(line string) string { return "p:" + line }

// lineOf is the act's line as values store it.
func lineOf(act acts.Act) string { return url.PathEscape(act.Line()) }
