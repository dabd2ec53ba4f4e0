package sim_test

import (
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// beside makes the attempts in events ask to run beside others.
func beside(events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Beside = true
	}
	return events
}

// because says why it happened.
func because(text string, events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Text = text
	}
	return events
}

// on is what happens to a replica, or to a job there.
func on(replica, job string, when int, what sim.What) []sim.Event {
	return []sim.Event{{At: ms(when), What: what, Replica: replica, Job: job}}
}

func orderCases() []checkCase {
	return []checkCase{
		{"a later tick, then an earlier one", sim.Record{Events: history(won("a", 2, 1, 0, 5), won("b", 1, 2, 2000, 2005))}, sim.Order},
		{"the later one was given back unused", sim.Record{Events: history(
			won("a", 2, 1, 0, 5), then("a", 6, sim.Voiding), won("b", 1, 2, 2000, 2005))}, ""},
		{"the earlier one was given back unused", sim.Record{Events: history(
			won("a", 2, 1, 0, 5), won("b", 1, 2, 2000, 2005), then("b", 2006, sim.Voiding))}, ""},
	}
}

func besideCases() []checkCase {
	pair := func() []sim.Event { return history(won("a", 1, 1, 0, 5), won("b", 2, 2, 10, 15)) }
	old := func(writes ...[]sim.Event) sim.Record {
		return sim.Record{Exclusive: true, Events: history(beside(pair()), history(writes...), then("a", 30, sim.Rejected))}
	}
	return []checkCase{
		{"two leases beside one another", sim.Record{Exclusive: true, Events: beside(pair())}, ""},
		{"a lease that is not beside", sim.Record{Exclusive: true, Events: history(beside(won("a", 1, 1, 0, 5)), won("b", 2, 2, 10, 15))}, sim.Alone},
		{"the older of two is refused", old(then("b", 20, sim.Wrote)), ""},
		{"the older of two is refused for nothing", old(), sim.Stale},
		{"a tick beside itself", sim.Record{Events: beside(history(won("a", 1, 1, 0, 5), won("b", 1, 2, 10, 15)))}, sim.Once},
	}
}

func reloadCases() []checkCase {
	stopped := func(why string, rules sim.Rules) sim.Record {
		return sim.Record{
			Events: history(won("a", 1, 1, 0, 5), then("a", 6, sim.Began), because(why, then("a", 300, sim.Stopped))),
			Rules:  map[string]sim.Rules{"job": rules},
		}
	}
	replaces := sim.Rules{Replaces: true}
	return []checkCase{
		{"a run loses its lease", stopped(sim.ByLease, sim.Rules{}), ""},
		{"a run is replaced", stopped(sim.ByTick, replaces), ""},
		{"a run is replaced that is not to be", stopped(sim.ByTick, sim.Rules{}), sim.Spared},
		{"a reload ends a run", stopped("the job was removed", replaces), sim.Spared},
		{"a dropped job is asked for", sim.Record{Events: history(on("r-a", "job", 0, sim.Dropped), won("a", 1, 1, 1, 5))}, sim.Gone},
		{"a job is dropped that was asked for", sim.Record{Events: history(on("r-a", "job", 1, sim.Dropped), won("a", 1, 1, 1, 5))}, ""},
		{"another replica dropped it", sim.Record{Events: history(on("r-b", "job", 0, sim.Dropped), won("a", 1, 1, 1, 5))}, ""},
		{"it was taken in again", sim.Record{Events: history(on("r-a", "job", 0, sim.Dropped), on("r-a", "job", 0, sim.Taken), won("a", 1, 1, 1, 5))}, ""},
	}
}

func unseenCases() []checkCase {
	skipped := func(events ...[]sim.Event) sim.Record {
		return sim.Record{
			Start: at(2).Add(-5 * time.Second), Events: history(events...),
			Ledgers: map[string]sim.Ledger{"job": {CaughtUp: true, Lines: []sim.Line{{Tick: at(2), Outcome: "skipped", Reason: "overlap"}}}},
		}
	}
	slow := skipped(on("r", "", 6000, sim.Serving))
	slow.Clocks = 3 * time.Second
	return []checkCase{
		{"a tick is skipped that a slow clock came to", slow, ""},
		{"a tick is skipped that was to be caught up", skipped(on("r", "", 0, sim.Serving), on("r", "", 3000, sim.Died), on("s", "", 7000, sim.Serving)), sim.CaughtUp},
		{"a tick is skipped that was seen", skipped(on("r", "", 0, sim.Serving), on("r", "", 6000, sim.Died)), ""},
		{"a tick is skipped of a job that was paused", skipped(on("r", "job", 0, sim.Paused)), ""},
	}
}
