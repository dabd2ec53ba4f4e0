package schedtest

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/quorate/quorate/scheduler/acts"
)

// anIDIsForOneAct: an id identifies its first act. Other contents are refused without
// effect.
func anIDIsForOneAct(b *actsBench) {
	ended := b.do(acts.Act{ID: "K", Kind: acts.Resume, Tag: "nobody-has-it", By: "bob", Reason: "so"})
	paused := pause("K", "unseen")
	paused.Job = jobName
	b.wantReused("a pause with the id of a resume", paused)
	b.wantReused("a trigger with the id of a resume", trigger("K", jobName))
	asked := b.do(trigger("T", jobName))
	b.wantReused("a pause with the id of a trigger", func() acts.Act { p := paused; p.ID = "T"; return p }())
	for what, mend := range map[string]func(*acts.Act){
		"another job":    func(a *acts.Act) { a.Job = "other" },
		"other params":   func(a *acts.Act) { a.Params = []byte(`{"a": 1}`) },
		"another reason": func(a *acts.Act) { a.Reason = "try it again" },
	} {
		act := trigger("T", jobName)
		mend(&act)
		b.wantReused(what, act)
	}
	b.close("T", "succeeded")
	b.wantReused("another job, once the request was closed", trigger("T", "other"))
	open := b.open()
	b.wantIDs("Open, pauses,", open.Pauses)
	b.wantIDs("Open, requests,", open.Requests)
	list := b.audit(10)
	b.wantIDs("Audit", list, "T", "K")
	if list[1].Kind != acts.Resume || !list[1].At.Equal(ended.At) || !list[0].At.Equal(asked.At) {
		b.Errorf("the audit log says %+v", list)
	}
}

func (b *actsBench) wantReused(what string, act acts.Act) {
	b.Helper()
	_, err := b.Do(b.Context(), act)
	var reused *acts.ReusedIDError
	if !errors.As(err, &reused) || reused.ID != act.ID {
		b.Errorf("%s: Do = %v, want a *ReusedIDError", what, err)
	}
}

// pausingTwiceIsPausingOnce: a repeated pause has no effect after a resume.
func pausingTwiceIsPausingOnce(b *actsBench) {
	first := pause("p", "so")
	first.Job = jobName
	made := b.do(first)
	b.do(acts.Act{ID: "r", Kind: acts.Resume, Job: jobName, By: "bob"})
	first.By = "ann@phone" // the same user, elsewhere
	if again := b.do(first); !reflect.DeepEqual(again, made) {
		b.Errorf("asked again: %+v, want %+v", again, made)
	}
	b.wantIDs("Open after that", b.open().Pauses)
	b.wantIDs("Audit", b.audit(10), "r", "p")
}

// pausesAreBounded in number; ending one makes room.
func pausesAreBounded(b *actsBench) {
	for n := range b.MaxPauses {
		p := pause("", strings.Repeat("x", acts.MaxText))
		p.Tag = fmt.Sprint("t", n)
		b.do(p)
	}
	more := pause("more", "one more")
	more.Tag = "more"
	_, err := b.Do(b.Context(), more)
	var bad *acts.Error
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), strconv.Itoa(b.MaxPauses)) {
		b.Errorf("one more: %v, want an *acts.Error that names the bound", err)
	}
	if open := b.open().Pauses; len(open) != b.MaxPauses {
		b.Errorf("%d pauses stand, want %d", len(open), b.MaxPauses)
	}
	again := pause("again", "a pause that stands may be said anew")
	again.Tag = "t0"
	b.do(again)
	b.do(acts.Act{ID: "r", Kind: acts.Resume, Tag: "t0", By: "bob"})
	b.do(more)
	if open := b.open().Pauses; len(open) != b.MaxPauses {
		b.Errorf("%d pauses stand, want %d", len(open), b.MaxPauses)
	}
}
