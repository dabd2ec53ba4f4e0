package schedtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A CommandsBackend is a kind of [commands.Store] under test.
type CommandsBackend struct {
	Hooks
	// New makes an empty cluster and returns its commands. Required.
	New func(t testing.TB) commands.Store
	// MaxOpen bounds the open requests. Default: commands.MaxOpen.
	MaxOpen int
	// Nodes is how many nodes vote on a request, 0 or 1 in one store. Each has a bound of its own,
	// so competing requests together may exceed MaxOpen where several vote.
	Nodes int
	// MaxPauses bounds the current pauses. Default: commands.MaxPauses.
	MaxPauses int
}

// RunCommands checks every promise of [commands.Store], one subtest each.
func RunCommands(t *testing.T, b CommandsBackend) {
	t.Helper()
	b.Hooks = b.withDefaults()
	b.MaxOpen, b.MaxPauses = cmp.Or(b.MaxOpen, commands.MaxOpen), cmp.Or(b.MaxPauses, commands.MaxPauses)
	for _, c := range commandsChecks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(&commandsBench{TB: t, CommandsBackend: b, Store: b.New(t)})
			})
		})
	}
}

type commandsCheck struct {
	name string
	run  func(*commandsBench)
}

func commandsChecks() []commandsCheck {
	return []commandsCheck{
		{"NothingIsOpenAtFirst", nothingIsOpenAtFirst},
		{"ARequestIsOpenUntilClosed", aRequestIsOpenUntilClosed},
		{"ParamsKeepTheirBytes", paramsKeepTheirBytes},
		{"ARequestExpires", aRequestExpires},
		{"AskingTwiceIsAskingOnce", askingTwiceIsAskingOnce},
		{"AnIDIsForOneCommand", anIDIsForOneCommand},
		{"PausingTwiceIsPausingOnce", pausingTwiceIsPausingOnce},
		{"RequestsHaveAnOrder", requestsHaveAnOrder},
		{"ConcurrentRequestsAreAllKept", concurrentRequestsAreAllKept},
		{"ABackfillTakesRoomForItsTicks", aBackfillTakesRoomForItsTicks},
		{"ThePauseAfterCounts", thePauseAfterCounts},
		{"APauseEnds", aPauseEnds},
		{"TargetsAreApart", targetsAreApart},
		{"AuditNewestFirst", auditNewestFirst},
		{"ANoteIsInTheAuditLogOnly", aNoteIsInTheAuditLogOnly},
		{"BadCommandsAreRefused", badCommandsAreRefused},
		{"OpenRequestsAreBounded", openRequestsAreBounded},
		{"ConcurrentRequestsShareTheBound", concurrentRequestsShareTheBound},
		{"PausesAreBounded", pausesAreBounded},
		{"EndedContextIsAnError", commandsEndedContextIsAnError},
	}
}

// commandsBench is one fresh cluster under test.
type commandsBench struct {
	testing.TB
	CommandsBackend
	commands.Store
}

func (b *commandsBench) do(command commands.Command) commands.Command {
	b.Helper()
	got, err := b.Do(b.Context(), command)
	if err != nil {
		b.Fatalf("Do(%+v) = %v", command, err)
	}
	return got
}

func (b *commandsBench) open() commands.Open {
	b.Helper()
	open, err := b.Open(b.Context())
	if err != nil {
		b.Fatalf("Open = %v", err)
	}
	return open
}

func (b *commandsBench) close(id, result string) {
	b.Helper()
	if err := b.Close(b.Context(), id, result); err != nil {
		b.Fatalf("Close(%s) = %v", id, err)
	}
}

func (b *commandsBench) audit(limit int) []commands.Command {
	b.Helper()
	list, err := b.Audit(b.Context(), limit)
	if err != nil {
		b.Fatalf("Audit = %v", err)
	}
	return list
}

// wantIDs compares commands by their ids.
func (b *commandsBench) wantIDs(what string, got []commands.Command, want ...string) {
	b.Helper()
	var have []string
	for _, a := range got {
		have = append(have, a.ID)
	}
	if len(have) != len(want) {
		b.Fatalf("%s lists %q, want %q", what, have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			b.Fatalf("%s lists %q, want %q", what, have, want)
		}
	}
}

// trigger is a request with the given id.
func trigger(id, job string) commands.Command {
	return commands.Command{ID: id, Kind: commands.Trigger, Job: job, By: "ann@laptop", Reason: "try it"}
}

func pause(id, reason string) commands.Command {
	return commands.Command{ID: id, Kind: commands.Pause, By: "ann@laptop", Reason: reason}
}

// past is a day of the past.
func past(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }

func nothingIsOpenAtFirst(b *commandsBench) {
	open := b.open()
	b.wantIDs("Open, pauses,", open.Pauses)
	b.wantIDs("Open, requests,", open.Requests)
	b.wantIDs("Audit", b.audit(10))
	b.close("nosuch", "was never there")
}

func aRequestIsOpenUntilClosed(b *commandsBench) {
	asked := trigger("t", jobName)
	asked.Params = json.RawMessage(`{"customer": "a|b <c>", "n": 12345678901234567}`)
	asked.Within = 5 * time.Minute
	got := b.do(asked)
	want := asked
	want.At, want.Trigger = got.At, ledger.ByManual
	want.Params = json.RawMessage(`{"customer":"a|b <c>","n":12345678901234567}`) // without blanks
	if !reflect.DeepEqual(got, want) {
		b.Errorf("Do = %+v, want %+v", got, want)
	}
	if off := time.Since(got.At); off < -time.Minute || off > time.Minute || got.At.Nanosecond()%1e6 != 0 {
		b.Errorf("At = %v, want the time in whole milliseconds", got.At)
	}
	for range 2 {
		if open := b.open().Requests; len(open) != 1 || !reflect.DeepEqual(open[0], got) {
			b.Fatalf("Open lists %+v, want %+v", open, got)
		}
	}
	b.close("t", "succeeded")
	b.close("t", "failed") // the first result stays
	b.wantIDs("Open of a closed request", b.open().Requests)
	line := b.audit(10)
	b.wantIDs("Audit", line, "t")
	if line[0].Result != "succeeded" || line[0].Closed.IsZero() {
		b.Errorf("the audit log says %+v, want the first result", line[0])
	}
	if again := b.do(asked); again.Result != "succeeded" {
		b.Errorf("Do of a closed request = %+v, want it as it stands", again)
	}
	b.wantIDs("Open of a request asked again", b.open().Requests)
}

// Params of every size that is allowed are stored as they are, whatever their characters, and
// pass the checks of the store when they are asked for again.
func paramsKeepTheirBytes(b *commandsBench) {
	for i, letter := range []string{"<", "&", "\u2028", "é", `\u003c`} {
		text := strings.Repeat(letter, (commands.MaxParams-len(`{"a":""}`))/len(letter))
		asked := trigger(fmt.Sprintf("large-%d", i), jobName)
		asked.Params = json.RawMessage(`{"a":"` + text + `"}`)
		got := b.do(asked)
		if string(got.Params) != string(asked.Params) {
			b.Errorf("%s: %d bytes of params became %d, %.20s…", letter, len(asked.Params), len(got.Params), got.Params)
		}
		if again := b.do(got); !reflect.DeepEqual(again, got) {
			b.Errorf("%s: asking again for what is stored = %.200v", letter, again)
		}
		for _, open := range b.open().Requests {
			if string(open.Params) != string(asked.Params) {
				b.Errorf("%s: %d bytes of params are listed as %d", letter, len(asked.Params), len(open.Params))
			}
		}
		b.close(asked.ID, "succeeded")
	}
}

func aRequestExpires(b *commandsBench) {
	short := trigger("short", jobName)
	short.Within = time.Second
	b.do(short)
	b.do(trigger("long", jobName))
	for range tries {
		b.Wait(time.Second / 4)
		if len(b.open().Requests) == 1 {
			break
		}
	}
	b.wantIDs("Open after one has expired", b.open().Requests, "long")
	b.wantIDs("Open, expired,", b.open().Expired, "short")
	b.close("short", "expired")
	b.wantIDs("Open, expired, after it was closed", b.open().Expired)
	b.wantIDs("Audit", b.audit(10), "long", "short")
}

func askingTwiceIsAskingOnce(b *commandsBench) {
	first := b.do(trigger("once", jobName))
	second := trigger("once", jobName)
	second.By = "ann@phone"
	if again := b.do(second); !reflect.DeepEqual(again, first) {
		b.Errorf("asked again: %+v, want %+v", again, first)
	}
	b.wantIDs("Open", b.open().Requests, "once")
	b.wantIDs("Audit", b.audit(10), "once")
}

func requestsHaveAnOrder(b *commandsBench) {
	var want []string
	var last commands.Command
	for n := range 20 {
		command := b.do(trigger(fmt.Sprintf("t%02d", n), jobName))
		if !command.At.After(last.At) {
			b.Fatalf("%+v does not come after %+v", command, last)
		}
		last = command
		want = append(want, command.ID)
	}
	b.wantIDs("Open", b.open().Requests, want...)
}

func concurrentRequestsAreAllKept(b *commandsBench) {
	commands, errs := make([]commands.Command, 6), make([]error, 6)
	var asking sync.WaitGroup
	for i := range commands {
		asking.Go(func() { commands[i], errs[i] = b.Do(b.Context(), trigger(fmt.Sprint("t", i), jobName)) })
	}
	asking.Wait()
	seen := map[time.Time]string{}
	for i, command := range commands {
		if errs[i] != nil {
			b.Fatalf("Do = %v", errs[i])
		}
		if other := seen[command.At]; other != "" {
			b.Errorf("%s and %s have the same At %v", other, command.ID, command.At)
		}
		seen[command.At] = command.ID
	}
	if open := b.open().Requests; len(open) != len(commands) {
		b.Errorf("Open lists %+v, want all %d", open, len(commands))
	}
}

func aBackfillTakesRoomForItsTicks(b *commandsBench) {
	asked := commands.Command{ID: "b1", Kind: commands.Backfill, Job: jobName, By: "ann", Reason: "lost", From: past(1), To: past(3)}
	first := b.do(asked)
	asked.ID = "b2"
	second := b.do(asked)
	if room := second.At.Sub(first.At); room < commands.MaxBackfill*time.Millisecond {
		b.Errorf("a backfill has %v before the next, want a millisecond for each of its ticks", room)
	}
	open := b.open().Requests
	b.wantIDs("Open", open, "b1", "b2")
	if !reflect.DeepEqual(open[0], first) {
		b.Errorf("Open lists %+v, want %+v", open[0], first)
	}
	b.do(trigger("t", jobName)) // has its own series
	if open := b.open().Requests; len(open) != 3 {
		b.Errorf("Open lists %+v, want three", open)
	}
}

func auditNewestFirst(b *commandsBench) {
	b.do(trigger("t1", jobName))
	b.Wait(2 * time.Millisecond)
	p := pause("p1", "stop all")
	p.All = true
	b.do(p)
	b.Wait(2 * time.Millisecond)
	b.do(trigger("t2", jobName))
	b.close("t1", "succeeded")
	b.wantIDs("Audit", b.audit(10), "t2", "p1", "t1")
	b.wantIDs("Audit of two", b.audit(2), "t2", "p1")
}

func badCommandsAreRefused(b *commandsBench) {
	for what, command := range map[string]commands.Command{
		"no kind":                 {Job: jobName},
		"no job":                  {Kind: commands.Trigger},
		"bad id":                  trigger("with blank", jobName),
		"params of a wrong form":  {Kind: commands.Trigger, Job: jobName, Params: json.RawMessage(`[1]`)},
		"concurrent trigger":      {Kind: commands.Trigger, Job: jobName, Concurrency: 2},
		"much at once":            {Kind: commands.Backfill, Job: jobName, From: time.Unix(0, 0), To: time.Unix(1, 0), Concurrency: commands.MaxConcurrency + 1},
		"large params":            {Kind: commands.Trigger, Job: jobName, Params: json.RawMessage(`{"a":"` + strings.Repeat("x", commands.MaxParams) + `"}`)},
		"too short":               {Kind: commands.Trigger, Job: jobName, Within: time.Millisecond},
		"a cancel without a run":  {Kind: commands.Cancel, Job: jobName},
		"a backfill back in time": {Kind: commands.Backfill, Job: jobName, From: past(2), To: past(1)},
		"a pause without reason":  {Kind: commands.Pause, Job: jobName, By: "ann"},
		"a pause of two targets":  {Kind: commands.Pause, Job: jobName, All: true, By: "ann", Reason: "why"},
		"a pause of nothing":      {Kind: commands.Pause, By: "ann", Reason: "why"},
		"a tag of any text":       {Kind: commands.Pause, Tag: "a tag", By: "ann", Reason: "why"},
		"a long tag":              {Kind: commands.Pause, Tag: strings.Repeat("x", 101), By: "ann", Reason: "why"},
		"a long job":              {Kind: commands.Pause, Job: strings.Repeat("x", commands.MaxName+1), By: "ann", Reason: "why"},
		"a long run":              {Kind: commands.Cancel, Job: jobName, Run: strings.Repeat("x", commands.MaxName+1)},
		"a resume of a long tag":  {Kind: commands.Resume, Tag: strings.Repeat("x", commands.MaxName+1)},
		"a long reason":           {Kind: commands.Pause, All: true, By: "ann", Reason: strings.Repeat("x", commands.MaxText+1)},
	} {
		_, err := b.Do(b.Context(), command)
		var bad *commands.Error
		if !errors.As(err, &bad) || bad.Msg == "" {
			b.Errorf("%s: Do = %v, want a *commands.Error", what, err)
		}
	}
	b.wantIDs("Audit", b.audit(10))
}

func openRequestsAreBounded(b *commandsBench) {
	for n := range b.MaxOpen {
		b.do(trigger(fmt.Sprint("t", n), jobName))
	}
	_, err := b.Do(b.Context(), trigger("more", jobName))
	var bad *commands.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), strconv.Itoa(b.MaxOpen)) {
		b.Errorf("one more: %v, want a *commands.Error that names the bound", err)
	}
	if open := b.open().Requests; len(open) != b.MaxOpen {
		b.Errorf("%d requests are open, want %d", len(open), b.MaxOpen)
	}
	b.do(commands.Command{ID: "c", Kind: commands.Cancel, Job: jobName, Run: "r"}) // ends what may hold them up
	b.close("c", "done")
	b.close("t0", "done")
	b.do(trigger("more", jobName))
	all := pause("p", "resuming and pausing always works")
	all.All = true
	b.do(all)
}

func concurrentRequestsShareTheBound(b *commandsBench) {
	const room = 5
	for n := range b.MaxOpen - room {
		b.do(trigger(fmt.Sprint("t", n), jobName))
	}
	// Each node has the room, and each request takes some of it on a majority of them.
	nodes := max(1, b.Nodes)
	least, most, open := b.MaxOpen-room+1, b.MaxOpen-room+room*nodes/(nodes/2+1), 0
	for round := 0; open < least && round < 10; round++ { // where all compete, all may be refused
		b.askAtOnce(4*room, fmt.Sprint("round", round))
		open = len(b.open().Requests)
	}
	if open < least || open > most {
		b.Errorf("%d requests are open, want %d to %d", open, least, most)
	}
}

func (b *commandsBench) askAtOnce(requests int, name string) {
	var asking sync.WaitGroup
	for n := range requests {
		asking.Go(func() {
			ask := trigger(fmt.Sprint(name, "-", n), fmt.Sprint("job", n)) // no two are in one line
			_, err := b.Do(b.Context(), ask)
			for range 20 {
				if !errors.Is(err, locking.ErrNoQuorum) {
					break
				}
				_, err = b.Do(b.Context(), ask) // a busy store answers late: the ID makes it one request
			}
			if err != nil && !errors.As(err, new(*commands.Error)) {
				b.Errorf("Do = %v", err)
			}
		})
	}
	asking.Wait()
}

func commandsEndedContextIsAnError(b *commandsBench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	_, do := b.Do(ctx, trigger("t", jobName))
	_, open := b.Open(ctx)
	_, audit := b.Audit(ctx, 1)
	for what, err := range map[string]error{"Do": do, "Open": open, "Audit": audit, "Close": b.Close(ctx, "t", "")} {
		if err == nil {
			b.Errorf("%s under a cancelled context = nil, want an error", what)
		}
	}
}

func aNoteIsInTheAuditLogOnly(b *commandsBench) {
	book, ok := b.Store.(commands.Notebook)
	if !ok {
		b.Fatal("it takes no notes")
	}
	b.do(commands.Command{ID: "p", Kind: commands.Pause, Job: jobName, By: "ann@laptop", Reason: "so"})
	for _, note := range []commands.Command{
		{Kind: commands.Resume, Job: jobName, By: "bob@laptop", Reason: "x", Result: "refused: bob is a viewer"},
		{Kind: commands.Release, Job: jobName, By: "ann@laptop", Reason: strings.Repeat("a|b ", 2000), Result: "taken from a"},
		{Kind: commands.Trigger, All: true, Result: "refused: nobody"},
	} {
		if err := book.Note(b.Context(), note); err != nil {
			b.Fatalf("Note(%+v) = %v", note, err)
		}
	}
	for range 2 {
		open := b.open()
		b.wantIDs("Open, pauses,", open.Pauses, "p")
		b.wantIDs("Open, requests,", slices.Concat(open.Requests, open.Expired))
	}
	list := b.audit(10)
	results := map[string]bool{}
	for _, a := range list {
		results[a.Result] = true
	}
	if len(list) != 4 || !results["refused: bob is a viewer"] || !results["taken from a"] || !results["refused: nobody"] {
		b.Errorf("the audit log says %+v", list)
	}
	b.do(commands.Command{ID: "r", Kind: commands.Resume, Job: jobName})
	b.wantIDs("Open after a resume", b.open().Pauses)
}
