package commands

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// TestLostMinority kills and wipes two of five nodes, and wants the commands unchanged: while
// they are gone, blank, formatted again, and the only ones left with one of the others.
func TestLostMinority(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	formatted := make(chan string, 20)
	a := connect(t, redistest.Servers(servers), func(cfg *membership.Config) {
		cfg.Observer.Formatted = func(node string, _ time.Time) { formatted <- node }
	})
	a.mustDo(t, pause("p"))
	a.mustDo(t, trigger("t1"))
	a.mustDo(t, trigger("t2"))
	if err := a.Close(t.Context(), "t1", "succeeded"); err != nil {
		t.Fatal(err)
	}
	before := a.mustOpen(t)
	a.wantOpen(t, "at first", "t2")
	for len(formatted) > 0 {
		<-formatted // told by connect
	}
	lost := servers[1:3]
	for _, s := range lost {
		s.Kill()
	}
	same := func(when string) {
		t.Helper()
		if got := a.mustOpen(t); !reflect.DeepEqual(got, before) {
			t.Errorf("commands with a minority %s =\n%+v, want\n%+v", when, got, before)
		}
	}
	same("down")
	for _, s := range lost {
		s.Restart(false)
	}
	for range lost { // Run finds them blank and formats them
		select {
		case <-formatted:
		case <-t.Context().Done():
			t.Fatal("the nodes never came back")
		}
	}
	same("blank")
	for _, s := range lost { // the reading has updated them
		if got, err := s.Client().HGet(t.Context(), "{quorate}:acts", "a:t2").Result(); err != nil || !strings.Contains(got, `"t2"`) {
			t.Errorf("a node that was blank holds %q, %v of a request", got, err)
		}
	}
	servers[0].Kill()
	// Two that vouch and two that do not: the answer is partial.
	if _, err := a.Open(t.Context()); !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, commands.ErrGrace) || strings.Contains(err.Error(), "no quorum") || !strings.Contains(err.Error(), "complete memory") {
		t.Errorf("Open with two of five nodes that vouch = %v, want ErrNoQuorum", err)
	}
}

func TestNoQuorum(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 5)
	a := connect(t, minis.Cluster())
	a.mustDo(t, trigger("t"))
	minis.Stop(0)
	minis.Stop(2)
	a.wantOpen(t, "without a minority", "t")
	a.mustDo(t, trigger("t2"))
	a.wantOpen(t, "after another", "t", "t2")
	minis.Stop(3)
	_, do := a.Do(t.Context(), trigger("t3"))
	_, open := a.Open(t.Context())
	_, audit := a.Audit(t.Context(), 1)
	for what, err := range map[string]error{
		"Do": do, "Open": open, "Audit": audit, "Close": a.Close(t.Context(), "t", "done"),
	} {
		if !errors.Is(err, locking.ErrNoQuorum) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with two of five nodes = %v, want ErrNoQuorum on one line", what, err)
		}
	}
}

// TestLateTake holds back the second round of a request until a later request was
// made and shown: the first must not be acknowledged any more.
func TestLateTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		a := connect(t, minis.Cluster())
		first, err := trigger("first").Ready()
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.reserve(t.Context(), "test", first)
		if err != nil {
			t.Fatal(err)
		}
		first.At = r.at
		second := a.mustDo(t, trigger("second"))
		if !second.At.After(first.At) {
			t.Fatalf("the second request is at %v, the first at %v", second.At, first.At)
		}
		a.wantOpen(t, "while an earlier instant is reserved")
		time.Sleep(a.hold())
		a.wantOpen(t, "when it has lapsed", "second")
		if _, err := a.take(t.Context(), "test", first, r.by); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("taking an instant too late = %v, want ErrNoQuorum", err)
		}
		a.wantOpen(t, "after that", "second")
	})
}

// TestTakeInTime is the same, with the first request in time: it goes first.
func TestTakeInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		a := connect(t, minis.Cluster())
		first, err := trigger("first").Ready()
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.reserve(t.Context(), "test", first)
		if err != nil {
			t.Fatal(err)
		}
		a.mustDo(t, trigger("second"))
		first.At = r.at
		if _, err := a.take(t.Context(), "test", first, r.by); err != nil {
			t.Errorf("taking an instant in time = %v", err)
		}
		a.wantOpen(t, "with both", "first", "second")
	})
}

// TestTakeUnreserved lets a request that no node has reserved come after a later
// one: every node refuses it.
func TestTakeUnreserved(t *testing.T) {
	t.Parallel()
	minis := redistest.MiniN(t, 3)
	a := connect(t, minis.Cluster())
	late := a.mustDo(t, trigger("late"))
	early, err := trigger("early").Ready()
	if err != nil {
		t.Fatal(err)
	}
	early.At = late.At.Add(-time.Millisecond)
	if _, err := a.take(t.Context(), "test", early, "x"); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("taking an instant before that of another = %v, want ErrNoQuorum", err)
	}
	a.wantOpen(t, "after that", "late")
}

// TestHalfTaken lets a request reach one node only. It is shown, and in its
// place, as soon as a reader has brought it to a quorum.
func TestHalfTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		a := connect(t, minis.Cluster())
		first, err := trigger("first").Ready()
		if err != nil {
			t.Fatal(err)
		}
		first.At = a.clock()
		v, err := newValue(first)
		if err != nil {
			t.Fatal(err)
		}
		if r := a.set.Nodes()[1].Call(t.Context(), a.lua.take, a.keys(), idField(first), v.String(), "x", 10); r.Code != "OK" {
			t.Fatalf("take = %+v", r)
		}
		time.Sleep(time.Second)
		minis.Stop(1)
		_, _ = a.Audit(t.Context(), 1) // notices that
		a.wantOpen(t, "without the node that has it")
		minis.Start(1, true)
		time.Sleep(5 * time.Second)
		a.wantOpen(t, "with it", "first")
		again := a.mustDo(t, trigger("first"))
		if !again.At.Equal(first.At) {
			t.Errorf("asked again: %+v, want what the node had", again)
		}
	})
}
