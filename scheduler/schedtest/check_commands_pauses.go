package schedtest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/commands"
)

func thePauseAfterCounts(b *commandsBench) {
	first := pause("p1", "billing is down")
	first.Job = jobName
	made := b.do(first)
	if open := b.open().Pauses; len(open) != 1 || !reflect.DeepEqual(open[0], made) {
		b.Fatalf("Open lists %+v, want %+v", open, made)
	}
	second := pause("p2", "still")
	second.Job = jobName
	b.do(second)
	b.wantIDs("Open after a second pause", b.open().Pauses, "p2")
	b.do(commands.Command{ID: "r1", Kind: commands.Resume, Job: jobName, By: "bob"})
	b.wantIDs("Open after a resume", b.open().Pauses)
	third := pause("p3", "again")
	third.Job = jobName
	b.do(third)
	b.wantIDs("Open after a third pause", b.open().Pauses, "p3")
	b.close("p3", "closing a pause does nothing")
	b.wantIDs("Open after that", b.open().Pauses, "p3")
	b.wantIDs("Audit", b.audit(10), "p3", "r1", "p2", "p1")
}

// A pause with an end is over by the clock of the store, and is then known for a while. The next one of
// its target replaces it.
func aPauseEnds(b *commandsBench) {
	short := pause("p1", "for a moment")
	short.Job, short.Within = jobName, time.Second
	made := b.do(short)
	open := b.open()
	if list := slices.Concat(open.Pauses, open.Ended); len(list) != 1 || !reflect.DeepEqual(list[0], made) { // a slow machine may find it ended
		b.Fatalf("Open lists %+v, want %+v", list, made)
	}
	long := pause("p2", "for a year")
	long.All, long.Until = true, made.At.Add(365*24*time.Hour)
	b.do(long)
	b.Wait(1100 * time.Millisecond)
	open = b.open()
	b.wantIDs("Open after the end of one", open.Pauses, "p2")
	b.wantIDs("Open, of those that have ended,", open.Ended, "p1")
	over := pause("p3", "too late")
	over.Job, over.Until = jobName, made.Ends()
	var bad *commands.Error
	if _, err := b.Do(b.Context(), over); !errors.As(err, &bad) {
		b.Errorf("a pause until %v, which is over: %v", over.Until, err)
	}
	again := pause("p4", "again")
	again.Job = jobName
	b.do(again)
	open = b.open()
	b.wantIDs("Open after another pause", open.Pauses, "p2", "p4")
	b.wantIDs("Open, of those that had ended,", open.Ended)
	b.do(commands.Command{ID: "r1", Kind: commands.Resume, Job: jobName, By: "bob"})
	b.wantIDs("Open after a resume", b.open().Pauses, "p2")
}

func targetsAreApart(b *commandsBench) {
	job, tag, all := pause("job", "a"), pause("tag", "b"), pause("all", "c")
	job.Job, tag.Tag, all.All = "x", "x", true
	b.do(job)
	b.do(tag)
	b.do(all)
	b.wantIDs("Open", b.open().Pauses, "all", "job", "tag")
	b.do(commands.Command{ID: "r", Kind: commands.Resume, Tag: "x", By: "bob"})
	b.wantIDs("Open after the tag was resumed", b.open().Pauses, "all", "job")
	b.do(trigger("t", "x"))
	b.wantIDs("Open of a paused job", b.open().Requests, "t")
}
