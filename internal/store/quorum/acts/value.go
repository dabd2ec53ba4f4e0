package acts

import (
	"context"
	"embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
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

// NewSealed returns acts that can also be written to nodes that are sealed for a copy.
func NewSealed(set *membership.Set) *Acts {
	a := New(set)
	a.lua.learn = a.lua.learn.AcceptSealed()
	return a
}

// Copy stores the acts of another store, in the order of their times.
func (a *Acts) Copy(ctx context.Context, list []acts.Act) error {
	var logged []transfer.Value
	for _, act := range list {
		v, err := newValue(act)
		if err != nil {
			return err
		}
		log := "audit"
		if act.Refused() {
			log = "refused"
		}
		logged = append(logged, transfer.Value{Key: a.set.Key(log), Score: fmt.Sprint(v.at), Text: v.rest})
		if act.IsNote() {
			continue
		}
		if err := a.storeAll(ctx, "copying the acts", act, true); err != nil {
			return err
		}
	}
	return transfer.Put(ctx, a.set, logged)
}

//go:embed *.lua
var files embed.FS

// lua returns the text of the files with these names.
func lua(names ...string) string {
	var text strings.Builder
	for _, name := range names {
		b, _ := files.ReadFile(name + ".lua") // a test runs each script
		text.Write(b)
	}
	return text.String()
}

// scripts are the rules of this package. Reads also work on nodes that are sealed for a
// change of the list.
type scripts struct {
	reserve, take, learn *membership.Script
	look, find, audit    *membership.Script
	refuse               *membership.Script
}

func newScripts() scripts {
	script := func(name string, before ...string) *membership.Script {
		return membership.NewScript(name, lua("common")+lua(before...)+lua(name))
	}
	return scripts{
		reserve: script("reserve", "sweep"), take: script("take"), learn: script("learn"), refuse: script("refuse"),
		look: script("look").AcceptSealed(), find: script("find").AcceptSealed(), audit: script("audit").AcceptSealed(),
	}
}
