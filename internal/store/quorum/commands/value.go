package commands

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
	"github.com/quorate/quorate/scheduler/commands"
)

// States of a value, see common.lua.
const (
	reserved      = "R"
	open          = "O"
	closed        = "C"
	pauseOrResume = "P"
)

// keepResumed is how long a resume, and a pause that has ended, is kept, as in common.lua: a node that
// was away for longer could bring an earlier pause back.
const keepResumed = 90 * 24 * time.Hour

// A value is one command as nodes store it.
type value struct {
	state       string
	at, last    int64  // the first and the last instant that the command occupies in its series, ms
	until       int64  // when a reservation or an open request expires, or a resume or an ended pause is dropped, ms; 0: never
	series      string // commands of a series have growing instants: requests of one kind for a job, or pauses of a target
	fingerprint string // of the command
	rest        string // JSON of the command; of a reservation, its owner
}

// String is the stored form. common.lua and parseValue read it.
func (v value) String() string {
	return fmt.Sprintf("%s|%d|%d|%d|%s|%s|%s", v.state, v.at, v.until, v.last, v.series, v.fingerprint, v.rest)
}

func parseValue(text string) (value, error) {
	p := strings.SplitN(text, "|", 7)
	if len(p) != 7 {
		return value{}, fmt.Errorf("not a command: %.40q", text)
	}
	v := value{state: p[0], series: p[4], fingerprint: p[5], rest: p[6]}
	for i, n := range []*int64{&v.at, &v.until, &v.last} {
		var err error
		if *n, err = strconv.ParseInt(p[1+i], 10, 64); err != nil {
			return value{}, fmt.Errorf("not a command: %.40q", text)
		}
	}
	return v, nil
}

// newValue returns the stored form of a command.
func newValue(command commands.Command) (value, error) {
	text, err := command.Encode()
	if err != nil {
		return value{}, err
	}
	v := value{
		state: pauseOrResume, at: command.At.UnixMilli(), last: command.Last().UnixMilli(),
		series: seriesOf(command), fingerprint: command.Fingerprint(), rest: string(text),
	}
	switch {
	case command.Kind == commands.Resume:
		v.until = command.At.Add(keepResumed).UnixMilli()
	case command.Kind == commands.Pause:
		if ends := command.Ends(); !ends.IsZero() { // else until is 0: it is kept until it is replaced
			v.until = ends.Add(keepResumed).UnixMilli()
		}
	case command.Closed.IsZero():
		v.state, v.until = open, command.Expires().UnixMilli()
	default:
		v.state, v.until = closed, command.Expires().UnixMilli()
	}
	return v, nil
}

// command decodes the command of a value. The value must not be a reservation.
func (v value) command() (commands.Command, error) { return commands.Decode([]byte(v.rest)) }

// idField is the hash field that stores a command by its ID.
func idField(command commands.Command) string {
	if command.Kind.Request() {
		return requestField(command.ID)
	}
	return "k:" + command.ID
}

func requestField(id string) string { return "a:" + id }

// pauseField is the field of a series' latest pause or resume.
func pauseField(series string) string { return "p:" + series }

// seriesOf is the command's series as values store it.
func seriesOf(command commands.Command) string { return url.PathEscape(command.Series()) }

// NewForCopy is New for a copy of another store: it also writes to nodes that are sealed for that copy.
func NewForCopy(set *membership.Set) *Commands {
	a := New(set)
	a.lua.learn = a.lua.learn.AcceptSealed()
	return a
}

// Copy stores the commands of another store, which are in the order of their times. Nodes do not take
// commands that expired long ago (learn.lua), so Copy also writes all of them to the logs itself. Notes
// are only there.
func (a *Commands) Copy(ctx context.Context, list []commands.Command) error {
	var logged []transfer.Value
	for _, command := range list {
		v, err := newValue(command)
		if err != nil {
			return err
		}
		log := "audit"
		if command.Refused() {
			log = "refused"
		}
		logged = append(logged, transfer.Value{Key: a.set.Key(log), Score: fmt.Sprint(v.at), Text: v.rest})
		if command.IsNote() {
			continue
		}
		if err := a.storeAll(ctx, "copying the commands", command, true); err != nil {
			return err
		}
	}
	return transfer.Put(ctx, a.set, logged)
}

//go:embed *.lua
var files embed.FS

// scripts are the Lua scripts of this package: one per file. look reads all commands in force, find
// one, audit the logs; these also run on sealed nodes. learn stores commands that other nodes have.
type scripts struct {
	reserve, take, learn *membership.Script
	look, find, audit    *membership.Script
	refuse               *membership.Script
}

func newScripts() scripts {
	script := func(name string, before ...string) *membership.Script {
		return membership.NewScript(name, membership.Lua(files, append(append([]string{"common"}, before...), name)...))
	}
	return scripts{
		reserve: script("reserve", "sweep"), take: script("take"), learn: script("learn"), refuse: script("refuse"),
		look: script("look").AcceptSealed(), find: script("find").AcceptSealed(), audit: script("audit").AcceptSealed(),
	}
}
