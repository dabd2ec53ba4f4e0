package sim_test

import (
	"testing"

	"github.com/quorate/quorate/dev/sim"
)

// ran is a claim whose run began and ended at the given milliseconds.
func ran(name string, tick int, token uint64, from, to int, why string) []sim.Event {
	return history(won(name, tick, token, from-2, from-1), because(why, then(name, from, sim.Began)), then(name, to, sim.Returned))
}

// direct is of attempts that asked for one round.
func direct(events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Direct = true
	}
	return events
}

func TestCount(t *testing.T) {
	t.Parallel()
	died := func(replica string, when int) []sim.Event { return on(replica, "", when, sim.Died) }
	begun := func(name string, tick int, token uint64, from int, why string) []sim.Event {
		return history(won(name, tick, token, from-2, from-1), because(why, then(name, from, sim.Began)))
	}
	cancelled := history(begun("a", 1, 1, 10, ""), because(sim.ByTick, then("a", 20, sim.Stopped)))
	slot := func(replica string, token uint64, from int) []sim.Event {
		return ofJob("slot", []sim.Event{{At: ms(from), What: sim.Granted, Replica: replica, Claim: "slot " + replica, Token: token, Until: ms(from + 1000)}})
	}
	for _, tt := range []struct {
		name   string
		events []sim.Event
		comes  string // the only situation; empty: none
		also   string
	}{
		{"a pause within a claim", history(won("a", 1, 1, 0, 5)[:1], on("", "job", 3, sim.Paused), won("a", 1, 1, 0, 5)[1:]), sim.PausedInClaim, ""},
		{"a pause after it", history(won("a", 1, 1, 0, 5), on("", "job", 6, sim.Paused)), "", ""},
		{"a pause of another job", history(won("a", 1, 1, 0, 5)[:1], on("", "other", 3, sim.Paused)), "", ""},
		{"a reload within a run", history(on("r-a", "", 0, sim.Serving), ran("a", 1, 1, 10, 20, ""), on("r-a", "", 15, sim.Serving)), sim.ReloadedInRun, ""},
		{"a reload after it", history(on("r-a", "", 0, sim.Serving), ran("a", 1, 1, 10, 20, ""), on("r-a", "", 25, sim.Serving)), "", ""},
		{"a start within a run elsewhere", history(on("r-b", "", 15, sim.Serving), ran("a", 1, 1, 10, 20, "")), "", ""},
		{"catching up goes on", history(begun("a", 1, 1, 10, sim.CatchUp), died("r-a", 15), ran("b", 2, 2, 20, 30, sim.CatchUp)), sim.HandedOn, ""},
		{"what was caught up is taken over", history(begun("a", 1, 1, 10, sim.CatchUp), died("r-a", 15), attempt(2, ran("b", 1, 2, 20, 30, "rerun"))), sim.HandedOn, sim.RanAgain},
		{"the schedule goes on", history(begun("a", 1, 1, 10, sim.CatchUp), died("r-a", 15), ran("b", 2, 2, 20, 30, "schedule")), "", ""},
		{"catching up without a death", history(ran("a", 1, 1, 10, 15, sim.CatchUp), ran("b", 2, 2, 20, 30, sim.CatchUp)), "", ""},
		{"a run cancelled for one elsewhere", history(cancelled, ran("b", 2, 2, 30, 40, "")), sim.ReplacedAcross, ""},
		{"a run that ended before one elsewhere", history(ran("a", 1, 1, 10, 20, ""), ran("b", 2, 2, 30, 40, "")), "", ""},
		{"a run taken over", history(begun("a", 1, 1, 10, ""), died("r-a", 15), attempt(2, ran("b", 1, 2, 20, 30, "rerun"))), sim.RanAgain, ""},
		{"runs beside one another", history(ran("a", 1, 1, 10, 20, ""), ran("b", 2, 2, 15, 25, "")), sim.RanBeside, ""},
		{"runs after one another", history(ran("a", 1, 1, 10, 20, ""), ran("b", 2, 2, 20, 25, "")), "", ""},
		{"a full group", history(slot("x", 7, 0), won("a", 1, 1, 10, 15), then("a", 30, sim.Began)), sim.WaitedForSlot, ""},
		{"a full group, held by the dead", history(slot("x", 7, 0), won("a", 1, 1, 10, 15), died("x", 20), then("a", 30, sim.Began)), sim.WaitedForSlot, sim.WaitedForDead},
		{"who held a slot died later", history(slot("x", 7, 0), won("a", 1, 1, 10, 15), then("a", 30, sim.Began), died("x", 40)), sim.WaitedForSlot, ""},
		{"a claim in one round", direct(ran("a", 1, 1, 10, 20, "")), sim.InOneRound, ""},
		{"a tick found claimed", on("r-a", "job", 3, sim.Looked), sim.ByLooking, ""},
		{"a hint", because(sim.Hint, on("r-a", "job", 3, sim.Looked)), "", ""},
		{"a group with room", history(slot("x", 7, 1500), won("a", 1, 1, 10, 15), then("a", 30, sim.Began)), "", ""},
	} {
		got := sim.Count(sim.Record{
			Events: tt.events, Slots: map[string]string{"slot": "g"}, Rules: map[string]sim.Rules{"job": {Group: "g", Size: 1}},
		})
		for _, what := range sim.Situations() {
			if comes := what == tt.comes || what == tt.also; comes != (got[what] == 1) {
				t.Errorf("%s: %d %s", tt.name, got[what], what)
			}
		}
	}
}
