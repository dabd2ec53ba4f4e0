package commands

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/scheduler/commands"
)

// TestRefusalsEvictNoCommand floods the log with refusals, and wants every accepted command to stay
// in it.
func TestRefusalsEvictNoCommand(t *testing.T) {
	t.Parallel()
	a := connect(t, redistest.Servers(redistest.StartN(t, 3)))
	a.keep, a.refused = 10, 5
	for n := range 4 {
		a.mustDo(t, trigger(fmt.Sprint("t", n)))
	}
	a.mustDo(t, pause("p"))
	for n := range 30 {
		note := commands.Command{Kind: commands.Pause, All: true, By: "nobody@192.0.2.1", Result: fmt.Sprint(commands.RefusedResult, n)}
		if err := a.Note(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.Audit(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	for _, command := range list {
		if command.Refused() {
			refused++
		} else {
			accepted++
		}
	}
	if accepted != 5 || refused != 5 {
		t.Errorf("the log has %d accepted commands and %d refused: %+v", accepted, refused, list)
	}
	a.wantOpen(t, "after refusals", "t0", "t1", "t2", "t3")
}

// TestResumesLeaveNothing: a resume without a pause is in the audit log and leaves no
// register of its target; of the others the latest are kept.
func TestResumesLeaveNothing(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	on := redistest.Servers(servers)
	a := connect(t, on)
	resume := func(id, tag string) commands.Command {
		return commands.Command{ID: id, Kind: commands.Resume, Tag: tag, By: "bob"}
	}
	a.mustDo(t, resume("r1", "nobody-has-it"))
	stop := pause("p1")
	stop.Job, stop.Tag = "", "finance"
	a.mustDo(t, stop)
	a.mustDo(t, resume("r2", "finance"))
	views, err := a.readViews(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if _, kept := v.values["p:tag%20nobody-has-it"]; kept || len(v.values) != 1 {
			t.Errorf("%s keeps %+v", v.node.Name(), v.values)
		}
	}
	if list, err := a.Audit(t.Context(), 10); err != nil || len(list) != 3 {
		t.Errorf("Audit = %+v, %v", list, err)
	}
}

// TestResumeReachesAMissedPause: where a node does not answer, it may have the pause
// that is resumed, also if all others have lost it.
func TestResumeReachesAMissedPause(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	a := connect(t, redistest.Servers(servers))
	a.mustDo(t, pause("p"))
	servers[0].Freeze()
	defer servers[0].Thaw()
	for _, s := range servers[1:] {
		if err := s.Client().HDel(t.Context(), a.set.Key("acts"), "p:job%20job").Err(); err != nil {
			t.Fatal(err)
		}
	}
	a.mustDo(t, commands.Command{ID: "r", Kind: commands.Resume, Job: "job", By: "bob"})
	views, err := a.readViews(t.Context(), "test")
	if err != nil || len(views) != 2 {
		t.Fatalf("%d nodes answer: %v", len(views), err)
	}
	for _, v := range views {
		if v.values["p:job%20job"].until == 0 {
			t.Errorf("%s has no resume, and the pause comes back with the other: %+v", v.node.Name(), v.values)
		}
	}
}

// TestEndedPauseLeavesAMark: no flood of resumes pushes out a pause with an end, which takes a place while it
// lasts. After it has ended, a node that was away does not bring the pause before it back.
func TestEndedPauseLeavesAMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		a := connect(t, minis.Cluster())
		a.mustDo(t, pause("for-ever"))
		minis.Stop(0)
		a.pauses = 1
		bounded := pause("for-an-hour")
		bounded.Within = time.Hour
		a.mustDo(t, bounded)
		if _, err := a.Do(t.Context(), commands.Command{Kind: commands.Pause, Tag: "x", By: "ann", Reason: "so"}); err == nil {
			t.Error("a pause with an end takes no place")
		}
		a.learnResumes(t, 250)
		a.mustDo(t, trigger("t")) // it sweeps
		if open := a.mustOpen(t); len(open.Pauses) != 1 || open.Pauses[0].ID != bounded.ID {
			t.Errorf("after many resumes %+v are in force", open.Pauses)
		}
		time.Sleep(time.Hour)
		minis.Start(0, true)
		time.Sleep(time.Minute) // it is found, and read
		views, err := a.readViews(t.Context(), "test")
		if err != nil || len(views) != 3 {
			t.Fatalf("%d nodes answer: %v", len(views), err)
		}
		if open := a.mustOpen(t); len(open.Pauses) != 0 || len(open.Ended) != 1 {
			t.Errorf("after the end %+v are in force, and %+v have ended", open.Pauses, open.Ended)
		}
	})
}

// learnResumes tells the nodes of so many resumes, made from now on.
func (a *Commands) learnResumes(t *testing.T, n int) {
	t.Helper()
	args := []any{a.keep}
	for i := range n {
		v, err := newValue(commands.Command{ID: fmt.Sprint("r", i), Kind: commands.Resume, Tag: fmt.Sprint("tag", i), At: a.clock().Add(time.Duration(i) * time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, pauseField(v.series), v.String())
	}
	if _, err := a.call(t.Context(), "test", a.lua.learn, args...); err != nil {
		t.Fatal(err)
	}
}

// TestMostPausesAreReadInTime fills all places with the largest pauses there can be,
// and wants the nodes to answer within the time that they have.
func TestMostPausesAreReadInTime(t *testing.T) {
	t.Parallel()
	a := connect(t, redistest.Servers(redistest.StartN(t, 3)))
	a.pauses = commands.MaxPauses
	text := strings.Repeat("<", commands.MaxText)
	args := []any{a.keep}
	for n := range commands.MaxPauses {
		command, err := commands.Command{Kind: commands.Pause, Tag: fmt.Sprintf("%0100d", n), By: text, Reason: text}.Ready()
		if err != nil {
			t.Fatal(err)
		}
		command.At = a.clock()
		v, err := newValue(command)
		if err != nil {
			t.Fatal(err)
		}
		if args = append(args, pauseField(v.series), v.String()); len(args) > learnAtOnce || n == commands.MaxPauses-1 {
			if _, err := a.call(t.Context(), "test", a.lua.learn, args...); err != nil {
				t.Fatal(err)
			}
			args = args[:1]
		}
	}
	open := a.mustOpen(t)
	if len(open.Pauses) != commands.MaxPauses {
		t.Fatalf("Open lists %d pauses", len(open.Pauses))
	}
	last := pause("p")
	if _, err := a.Do(t.Context(), last); err == nil {
		t.Error("one more pause stands")
	}
	a.mustDo(t, commands.Command{Kind: commands.Resume, Tag: open.Pauses[0].Tag, By: "bob"})
	a.mustDo(t, last)
}
