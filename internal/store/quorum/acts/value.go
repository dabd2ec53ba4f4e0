package acts

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

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

// newValue returns the stored form of an act.
func newValue(act acts.Act) (value, error) {
	text, err := act.Encode()
	if err != nil {
		return value{}, err
	}
	v := value{
		state: pauseOrResume, at: act.At.UnixMilli(), last: act.Last().UnixMilli(),
		line: lineOf(act), print: act.Fingerprint(), rest: string(text),
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
func (v value) act() (acts.Act, error) { return acts.Decode([]byte(v.rest)) }

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
