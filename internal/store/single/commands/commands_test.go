package commands

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens the commands on m, with small bounds.
func open(m *kvtest.Memory) *Store {
	s := New(m)
	s.most, s.pauses, s.keep, s.refused = 30, 20, 10, 5
	return s
}

func TestCommandsConform(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*kvtest.Memory{
		"large transactions": {},
		"small transactions": {Bounds: kv.Limits{Keys: 100, Bytes: 512 << 10}}, // the least that a store has
		"without a clock":    {Clockless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedtest.RunCommands(t, schedtest.CommandsBackend{
				Hooks:   schedtest.Hooks{Bubble: synctest.Test},
				New:     func(testing.TB) commands.Store { return open(&kvtest.Memory{Bounds: m.Bounds, Clockless: m.Clockless}) },
				MaxOpen: 30, MaxPauses: 20,
			})
		})
	}
}

func trigger(id string) commands.Command {
	return commands.Command{ID: id, Kind: commands.Trigger, Job: "job", By: "ann", Reason: "try it"}
}

func (s *Store) mustDo(t *testing.T, command commands.Command) commands.Command {
	t.Helper()
	command, err := s.Do(t.Context(), command)
	if err != nil {
		t.Fatalf("Do(%s) = %v", command.ID, err)
	}
	return command
}

func (s *Store) mustOpen(t *testing.T) commands.Open {
	t.Helper()
	all, err := s.Open(t.Context())
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	return all
}

// wantOpen wants these requests to be open, oldest first.
func (s *Store) wantOpen(t *testing.T, when string, ids ...string) {
	t.Helper()
	var got []string
	for _, a := range s.mustOpen(t).Requests {
		got = append(got, a.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("%s are open %q, want %q", when, got, ids)
	}
}

// stored counts the records, by the name of their keys.
func stored(t *testing.T, m *kvtest.Memory) map[string]int {
	t.Helper()
	lists, _, err := m.List(t.Context(), kv.All(kv.Commands))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range lists[0] {
		count[r.Key.Name]++
	}
	return count
}

// A flood of commands, jobs, resumes and refusals leaves the latest of each, what is in force,
// and what happened within a day.
func TestOldRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		long := trigger("long")
		long.Within = 10 * keep
		s.mustDo(t, long)
		s.mustDo(t, commands.Command{Kind: commands.Pause, All: true, By: "ann", Reason: "broken"})
		for n := range 2000 {
			command := commands.Command{ID: fmt.Sprint("t", n), Kind: commands.Trigger, Job: fmt.Sprint("job", n)}
			s.mustDo(t, command)
			if n%2 == 0 {
				if err := s.Close(t.Context(), command.ID, "succeeded"); err != nil {
					t.Fatal(err)
				}
			}
			s.mustDo(t, commands.Command{Kind: commands.Resume, Tag: fmt.Sprint("tag", n)})
			if err := s.Note(t.Context(), commands.Command{Kind: commands.Pause, Result: fmt.Sprint(commands.RefusedResult, n)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(keep / 20)
		}
		if err := s.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Of the last day are 20 requests and 20 resumes. Ten commands are kept besides.
		for name, n := range stored(t, m) {
			if most := map[string]int{"act": 51, "audit": 50, "refused": 5, "open": 12, "line": 22, "pause": 22, "places": placeRecords}[name]; n > most {
				t.Errorf("%d records of %s are left, want at most %d", n, name, most)
			}
		}
		if list, err := s.Audit(t.Context(), 1000); err != nil || len(list) < s.keep+s.refused {
			t.Errorf("Audit = %d commands, %v", len(list), err)
		}
		if got := s.mustOpen(t); len(got.Pauses) != 1 || len(got.Expired) != 10 {
			t.Errorf("%d pauses, %d expired", len(got.Pauses), len(got.Expired))
		}
	})
}

// The ID of an open request is known for as long.
func TestOpenRequestsAreKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory)
		s := open(m)
		long := trigger("long")
		long.Within = 10 * keep
		first := s.mustDo(t, long)
		for n := range 2 * s.keep {
			s.mustDo(t, commands.Command{Kind: commands.Resume, Tag: fmt.Sprint("tag", n)})
		}
		time.Sleep(2 * keep)
		for range 3 {
			if err := s.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := stored(t, m); n["audit"] != s.keep {
			t.Errorf("%d commands are in the audit log, want %d", n["audit"], s.keep)
		}
		if again := s.mustDo(t, long); !again.At.Equal(first.At) {
			t.Errorf("asked again: %+v, want %+v", again, first)
		}
		if err := s.Close(t.Context(), "long", "succeeded"); err != nil {
			t.Fatal(err)
		}
		s.wantOpen(t, "at last")
	})
}
