package sim_test

import (
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// attempt numbers the attempts in events.
func attempt(n int, events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Attempt = n
	}
	return events
}

// ofJob gives events to another job.
func ofJob(job string, events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Job = job
	}
	return events
}

func policyCases() []checkCase {
	again := func(first, second int) []sim.Event {
		return history(attempt(first, rerun(won("a", 1, 1, 0, 5))), attempt(second, rerun(won("b", 1, 2, 2000, 2005))))
	}
	pair := func(from, to int) []sim.Event { // two jobs of a group, one after the other
		return history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Began), then("a", to, sim.Returned),
			ofJob("other", history(won("b", 1, 2, 10, 15), then("b", from, sim.Began), then("b", 900, sim.Returned))))
	}
	group := func(events []sim.Event, limit int) sim.Record {
		in := sim.Rules{Group: "g"}
		return sim.Record{Events: events, Rules: map[string]sim.Rules{"job": in, "other": in}, Limits: map[string]int{"g": limit}}
	}
	latest := func(bound time.Duration) sim.Record {
		return sim.Record{
			Events: history(won("a", 1, 1, 0, 5), then("a", 6, sim.Began), then("a", 7, sim.Returned)),
			Start:  at(1).Add(2 * time.Second), Rules: map[string]sim.Rules{"job": {Latest: bound}},
		}
	}
	replaced := func(events []sim.Event) sim.Record {
		return sim.Record{
			Start: at(1), Events: events, Rules: map[string]sim.Rules{"job": {Replaced: ms(50)}},
			Ledgers: map[string]sim.Ledger{"job": {Due: []time.Time{at(1).Add(ms(500))}, Lines: []sim.Line{{Tick: at(1).Add(ms(500)), Outcome: "skipped", Reason: "it took too long"}}}},
		}
	}
	began := history(won("a", 1, 1, 0, 5), then("a", 6, sim.Began))
	paused := func(began, ends int) sim.Record {
		says := func(when int, what sim.What) []sim.Event { return []sim.Event{{At: ms(when), What: what, Job: "job"}} }
		return sim.Record{Heard: ms(50), Start: at(1).Add(-ms(55)), Events: history(
			[]sim.Event{{What: sim.Paused, Job: "job", Until: ms(ends)}}, won("a", 1, 1, began-5, began-1), then("a", began, sim.Began), then("a", began+5, sim.Returned), says(500, sim.Resumed),
			won("b", 2, 2, 2000, 2005), then("b", 2006, sim.Began), then("b", 2007, sim.Returned))}
	}
	interrupted := map[string]sim.Ledger{"job": {Lines: []sim.Line{{Tick: at(1), Token: 1, Outcome: "interrupted", Ran: true}}}}
	return []checkCase{
		{"attempts grow", sim.Record{Events: again(1, 2)}, ""},
		{"attempts repeat", sim.Record{Events: again(1, 1)}, sim.Attempts},
		{"attempts fall", sim.Record{Events: again(2, 1)}, sim.Attempts},
		{"a run begins in time", latest(3 * time.Second), ""},
		{"a run begins too late", latest(2 * time.Second), sim.Late},
		{"a run stops when it is replaced", replaced(history(began, then("a", 550, sim.Stopped))), ""},
		{"a run ends before it is replaced", replaced(history(began, then("a", 300, sim.Returned))), ""},
		{"a run dies before it is replaced", replaced(history(began, []sim.Event{{At: ms(500), What: sim.Died, Replica: "r-a"}})), ""},
		{"a run goes on when it is replaced", replaced(history(began, then("a", 551, sim.Stopped))), sim.Replaced},
		{"a run goes on while its job is paused", replaced(history(on("", "job", 0, sim.Paused), began, then("a", 551, sim.Stopped))), ""},
		{"a run goes on long after a pause", replaced(history(on("", "job", -9000, sim.Paused), on("", "job", -8000, sim.Resumed), began, then("a", 551, sim.Stopped))), sim.Replaced},
		{"a run begins when it was replaced", replaced(history(won("a", 1, 1, 0, 5), then("a", 600, sim.Began), then("a", 600, sim.Stopped))), ""},
		{"a run begins when it was replaced, and goes on", replaced(history(won("a", 1, 1, 0, 5), then("a", 600, sim.Began), then("a", 620, sim.Stopped))), sim.Replaced},
		{"a run of a replica that came after what replaces it", replaced(history(
			[]sim.Event{{What: sim.Serving, Replica: "r-a", Tick: at(1).Add(ms(501))}}, won("a", 1, 1, 0, 5), then("a", 600, sim.Began), then("a", 900, sim.Returned))), ""},
		{"a group is full", group(pair(100, 100), 1), ""},
		{"a group is more than full", group(pair(99, 100), 1), sim.Limit},
		{"a group has room for both", group(pair(99, 100), 2), ""},
		{"a run that began before it was heard of the pause", paused(40, 0), ""},
		{"a paused job begins", paused(60, 0), sim.Pause},
		{"the tick at the end of a pause begins early", paused(60, 55), ""},
		{"the tick before the end of a pause begins", paused(60, 56), sim.Pause},
		{"a run stays interrupted", sim.Record{Ledgers: interrupted, Rules: map[string]sim.Rules{"job": {}}}, ""},
		{"a run stays interrupted that is to be run again", sim.Record{Ledgers: interrupted, Rules: map[string]sim.Rules{"job": {Again: true}}}, sim.Again},
	}
}
