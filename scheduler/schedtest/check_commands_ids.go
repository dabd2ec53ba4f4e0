package schedtest

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler/commands"
)

// anIDIsForOneCommand: an id identifies its first command. Other contents are refused without
// effect.
func anIDIsForOneCommand(b *commandsBench) {
	ended := b.do(commands.Command{ID: "K", Kind: commands.Resume, Tag: "nobody-has-it", By: "bob", Reason: "so"})
	paused := pause("K", "unseen")
	paused.Job = jobName
	b.wantReused("a pause with the id of a resume", paused)
	b.wantReused("a trigger with the id of a resume", trigger("K", jobName))
	asked := b.do(trigger("T", jobName))
	b.wantReused("a pause with the id of a trigger", func() commands.Command { p := paused; p.ID = "T"; return p }())
	for what, mend := range map[string]func(*commands.Command){
		"another job":    func(a *commands.Command) { a.Job = "other" },
		"other params":   func(a *commands.Command) { a.Params = []byte(`{"a": 1}`) },
		"another reason": func(a *commands.Command) { a.Reason = "try it again" },
	} {
		command := trigger("T", jobName)
		mend(&command)
		b.wantReused(what, command)
	}
	b.close("T", "succeeded")
	b.wantReused("another job, once the request was closed", trigger("T", "other"))
	open := b.open()
	b.wantIDs("Open, pauses,", open.Pauses)
	b.wantIDs("Open, requests,", open.Requests)
	list := b.audit(10)
	b.wantIDs("Audit", list, "T", "K")
	if list[1].Kind != commands.Resume || !list[1].At.Equal(ended.At) || !list[0].At.Equal(asked.At) {
		b.Errorf("the audit log says %+v", list)
	}
}

func (b *commandsBench) wantReused(what string, command commands.Command) {
	b.Helper()
	_, err := b.Do(b.Context(), command)
	var reused *commands.ReusedIDError
	if !errors.As(err, &reused) || reused.ID != command.ID {
		b.Errorf("%s: Do = %v, want a *ReusedIDError", what, err)
	}
}

// pausingTwiceIsPausingOnce: a repeated pause has no effect after a resume.
func pausingTwiceIsPausingOnce(b *commandsBench) {
	first := pause("p", "so")
	first.Job = jobName
	made := b.do(first)
	b.do(commands.Command{ID: "r", Kind: commands.Resume, Job: jobName, By: "bob"})
	first.By = "ann@phone" // the same user, elsewhere
	if again := b.do(first); !reflect.DeepEqual(again, made) {
		b.Errorf("asked again: %+v, want %+v", again, made)
	}
	b.wantIDs("Open after that", b.open().Pauses)
	b.wantIDs("Audit", b.audit(10), "r", "p")
}

// pausesAreBounded in number; ending one makes room.
func pausesAreBounded(b *commandsBench) {
	for n := range b.MaxPauses {
		p := pause("", strings.Repeat("x", commands.MaxText))
		p.Tag = fmt.Sprint("t", n)
		b.do(p)
	}
	more := pause("more", "one more")
	more.Tag = "more"
	_, err := b.Do(b.Context(), more)
	var bad *commands.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), strconv.Itoa(b.MaxPauses)) {
		b.Errorf("one more: %v, want a *commands.Error that names the bound", err)
	}
	if open := b.open().Pauses; len(open) != b.MaxPauses {
		b.Errorf("%d pauses stand, want %d", len(open), b.MaxPauses)
	}
	again := pause("again", "a pause that stands may be said anew")
	again.Tag = "t0"
	b.do(again)
	b.do(commands.Command{ID: "r", Kind: commands.Resume, Tag: "t0", By: "bob"})
	b.do(more)
	if open := b.open().Pauses; len(open) != b.MaxPauses {
		b.Errorf("%d pauses stand, want %d", len(open), b.MaxPauses)
	}
}
