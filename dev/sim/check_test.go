package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/locking"
)

// at is the n-th tick of these histories.
func at(n int) time.Time { return time.Unix(1_000_000+int64(n), 0).UTC() }

// won is a claim that was asked for at one millisecond and granted at another,
// with a lease of a second.
func won(name string, tick int, token uint64, asked, granted int) []sim.Event {
	a := sim.Event{At: ms(asked), What: sim.Asked, Replica: "r-" + name, Job: "job", Tick: at(tick), Claim: name}
	g := a
	g.At, g.What, g.Token, g.Until = ms(granted), sim.Granted, token, ms(granted+1000)
	return []sim.Event{a, g}
}

// then is what became of a claim later.
func then(claim string, when int, what sim.What) []sim.Event {
	return []sim.Event{{At: ms(when), What: what, Replica: "r-" + claim, Job: "job", Claim: claim}}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func history(parts ...[]sim.Event) []sim.Event {
	var all []sim.Event
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// A checkCase is a history made by hand, and the promise that it breaks; empty if
// none.
type checkCase struct {
	name   string
	record sim.Record
	broken string
}

// TestCheck gives the checker histories of each promise: some in which it is
// broken, and their twins in which it is not.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(
		onceCases(), tokenCases(), contextCases(), writeCases(), leaseCases(), ledgerCases(),
		policyCases(), orderCases(), besideCases(), reloadCases(), unseenCases(),
	) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := sim.Check(tt.record)
			asWanted := slices.ContainsFunc(found, func(v sim.Violation) bool { return v.Promise == tt.broken })
			if tt.broken == "" {
				asWanted = len(found) == 0
			}
			if !asWanted {
				t.Errorf("Check finds %v, want %q broken", found, tt.broken)
			}
		})
	}
}

// rerun makes the attempts in events ask to run at least once.
func rerun(events []sim.Event) []sim.Event {
	for i := range events {
		events[i].Rerun = true
	}
	return events
}

func onceCases() []checkCase {
	return []checkCase{
		{"one claim of a tick", sim.Record{Events: won("a", 1, 1, 0, 5)}, ""},
		{"two claims of a tick", sim.Record{Events: history(won("a", 1, 1, 0, 5), won("b", 1, 2, 10, 15))}, sim.Once},
		{"the first was given back unused", sim.Record{Events: history(won("a", 1, 1, 0, 5), then("a", 7, sim.Voiding), won("b", 1, 2, 10, 15))}, ""},
		{"the first was given back, and had run", sim.Record{Events: history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Began), then("a", 7, sim.Returned), then("a", 7, sim.Voiding), won("b", 1, 2, 10, 15))}, sim.Once},
		{"a rerun of a rerun", sim.Record{Events: history(rerun(won("a", 1, 1, 0, 5)), attempt(2, rerun(won("b", 1, 2, 10, 15))))}, ""},
		{"a rerun of what had to run once", sim.Record{Events: history(won("a", 1, 1, 0, 5), rerun(won("b", 1, 2, 10, 15)))}, sim.Once},
		{"a rerun of what was finished", sim.Record{Events: history(
			rerun(won("a", 1, 1, 0, 5)), then("a", 6, sim.Ending), then("a", 7, sim.Ended), rerun(won("b", 1, 2, 10, 15)))}, sim.Once},
	}
}

func tokenCases() []checkCase {
	return []checkCase{
		{"tokens grow", sim.Record{Events: history(won("a", 1, 7, 0, 5), won("b", 2, 8, 10, 15))}, ""},
		{"tokens of claims at the same time", sim.Record{Events: history(won("a", 2, 8, 0, 5), won("b", 1, 7, 4, 15))}, ""},
		{"tokens fall", sim.Record{Events: history(won("a", 1, 8, 0, 5), won("b", 2, 7, 10, 15))}, sim.Tokens},
		{"tokens repeat", sim.Record{Events: history(won("a", 1, 8, 0, 5), won("b", 2, 8, 4, 15))}, sim.Tokens},
		{"tokens fall long after", sim.Record{Events: history(
			won("a", 1, 9, 0, 5), won("b", 2, 10, 10, 15), won("c", 3, 11, 20, 25), won("d", 4, 8, 30, 35))}, sim.Tokens},
	}
}

func contextCases() []checkCase {
	return []checkCase{
		{"the context ends in time", sim.Record{Margin: ms(100), Events: history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Began), then("a", 905, sim.Stopped), then("a", 2000, sim.Returned))}, ""},
		{"the context ends late", sim.Record{Margin: ms(100), Events: history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Began), then("a", 950, sim.Stopped))}, sim.Lease},
		{"the context never ends", sim.Record{Margin: ms(100), Events: history(won("a", 1, 1, 0, 5), then("a", 6, sim.Began))}, sim.Lease},
		{"the process dies", sim.Record{Margin: ms(100), Events: history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Began), []sim.Event{{At: ms(500), What: sim.Died, Replica: "r-a"}})}, ""},
		{"the job begins too late", sim.Record{Margin: ms(100), Events: history(
			won("a", 1, 1, 0, 5), then("a", 950, sim.Began), then("a", 951, sim.Returned))}, sim.Lease},
	}
}

func writeCases() []checkCase {
	return []checkCase{
		{"an earlier claim writes first", sim.Record{Events: history(
			won("a", 1, 1, 0, 5), then("a", 6, sim.Wrote), won("b", 2, 2, 10, 15), then("b", 20, sim.Wrote))}, ""},
		{"an earlier claim is refused", sim.Record{Events: history(
			won("a", 1, 1, 0, 5), won("b", 2, 2, 1100, 1105), then("b", 1110, sim.Wrote), then("a", 1120, sim.Rejected)), Exclusive: true}, ""},
		{"an earlier claim writes later", sim.Record{Events: history(
			won("a", 1, 1, 0, 5), won("b", 2, 2, 10, 15), then("b", 20, sim.Wrote), then("a", 30, sim.Wrote))}, sim.Stale},
		{"a good write is refused", sim.Record{Events: history(won("a", 1, 1, 0, 5), then("a", 30, sim.Rejected)), Exclusive: true}, sim.Stale},
	}
}

func leaseCases() []checkCase {
	return []checkCase{
		{"one lease after the other", sim.Record{Exclusive: true, Events: history(won("a", 1, 1, 0, 5), won("b", 2, 2, 990, 1005))}, ""},
		{"a lease after a release", sim.Record{Exclusive: true, Events: history(won("a", 1, 1, 0, 5), then("a", 10, sim.Ending), won("b", 2, 2, 10, 15))}, ""},
		{"two leases at once", sim.Record{Exclusive: true, Events: history(won("a", 1, 1, 0, 5), won("b", 2, 2, 10, 15))}, sim.Alone},
		{"two leases where clocks were set", sim.Record{Events: history(won("a", 1, 1, 0, 5), won("b", 2, 2, 10, 15))}, ""},
		{"a lease that is extended into another", sim.Record{Exclusive: true, Events: history(
			won("a", 1, 1, 0, 5), []sim.Event{{At: ms(900), What: sim.Extended, Job: "job", Claim: "a", Until: ms(1900)}}, won("b", 2, 2, 1010, 1015))}, sim.Alone},
	}
}

func ledgerCases() []checkCase {
	ran := sim.Line{Tick: at(1), Token: 1, Outcome: "succeeded", Ran: true}
	missed := sim.Line{Tick: at(2), Outcome: "missed", Reason: "no quorum"}
	ledger := func(due []time.Time, lines ...sim.Line) map[string]sim.Ledger {
		return map[string]sim.Ledger{"job": {Due: due, Lines: lines}}
	}
	again := func(token uint64, asked ...[]sim.Event) sim.Record {
		return sim.Record{
			Events:  history(rerun(won("a", 1, 2, 0, 5)), then("a", 6, sim.Began), on("r-a", "", 7, sim.Died), history(asked...)),
			Ledgers: ledger([]time.Time{at(1)}, sim.Line{Tick: at(1), Token: token, Outcome: "interrupted", Ran: true}),
		}
	}
	refused := func(name string, why error) []sim.Event {
		e := won(name, 2, 0, 0, 5)[0]
		e.What, e.Text = sim.Refused, why.Error()
		return []sim.Event{e}
	}
	orphan := func(events ...[]sim.Event) sim.Record {
		return sim.Record{Events: history(events...), Ledgers: ledger([]time.Time{at(2)})}
	}
	leftOver := func(window time.Duration, events ...[]sim.Event) sim.Record {
		return sim.Record{Events: history(events...), Ledgers: map[string]sim.Ledger{"job": {Due: []time.Time{at(2)}, CatchUp: window}}, Start: at(0)}
	}
	waited := func(ms int) []sim.Event {
		e := won("a", 2, 0, 0, 5)[0]
		e.What, e.At = sim.Looked, time.Duration(ms)*time.Millisecond
		return []sim.Event{e}
	}
	leaves := on("r-a", "", 4000, sim.Left)
	gone, atFour := on("r-a", "", 7, sim.Died), on("r-a", "", 4000, sim.Left)
	voided := then("a", 6, sim.Voiding)
	voided[0].Tick = at(2)
	second := rerun(won("b", 1, 0, 1500, 1505))[:1] // it dies before it knows
	struck := func(at int, memory sim.Memory) []sim.Event {
		trouble := sim.Trouble{Fault: sim.NodeCrash, Memory: memory}
		return []sim.Event{{At: ms(at), What: sim.Happened, Text: trouble.String()}}
	}
	return []checkCase{
		{"a tick was claimed again before its replica died", again(3, second), ""},
		{"a tick was not claimed again", again(3), sim.Known},
		{"a tick has the token of an earlier claim", again(1, second), sim.Known},
		{"a tick has another token after a node forgot", again(7, struck(10, sim.Nothing)), ""},
		{"after a node remembered all", again(7, struck(10, sim.All)), sim.Known},
		{"before it forgot", again(7, struck(-1, sim.Nothing)), sim.Known},
		{"every tick is known", sim.Record{Ledgers: ledger([]time.Time{at(1), at(2)}, ran, missed)}, ""},
		{"a tick is not known", sim.Record{Ledgers: ledger([]time.Time{at(1), at(2)}, ran)}, sim.Known},
		{"a tick is left to be caught up by the next replica", leftOver(3*time.Second, atFour), ""},
		{"it cannot be caught up any more", leftOver(time.Second, atFour), sim.Known},
		{"it waited to the end", leftOver(time.Second, waited(3900), leaves), ""},
		{"it had been given up", leftOver(time.Second, waited(3), on("r-a", "", 9000, sim.Left)), sim.Known},
		{"nothing is caught up", leftOver(0, atFour), sim.Known},
		{"it has run", leftOver(3*time.Second, won("a", 2, 1, 0, 5), then("a", 6, sim.Began), then("a", 7, sim.Returned)), sim.Known},
		{"a claim was given back by who died", orphan(refused("a", locking.ErrNoQuorum), refused("b", locking.ErrClaimed), gone), ""},
		{"it lives", orphan(refused("a", locking.ErrNoQuorum), refused("b", locking.ErrClaimed)), sim.Known},
		{"it was granted", orphan(won("a", 2, 1, 0, 5), refused("a", locking.ErrNoQuorum), refused("b", locking.ErrClaimed), gone), sim.Known},
		{"it was granted, and given back", orphan(won("a", 2, 1, 0, 5), voided, refused("b", locking.ErrClaimed), gone), ""},
		{"another had no answer and lives", orphan(refused("a", locking.ErrNoQuorum), refused("b", locking.ErrNoQuorum), gone), sim.Known},
		{"all were told of another", orphan(refused("a", locking.ErrClaimed), refused("b", locking.ErrClaimed), gone), sim.Known},
		{"a tick is known twice", sim.Record{Ledgers: ledger([]time.Time{at(2)}, missed, missed)}, sim.Known},
		{"a tick was missed for no reason", sim.Record{Ledgers: ledger(nil, sim.Line{Tick: at(2), Outcome: "missed"})}, sim.Known},
		{"a tick that ran was missed", sim.Record{
			Events:  history(won("a", 2, 1, 0, 5), then("a", 6, sim.Began), then("a", 7, sim.Returned)),
			Ledgers: ledger([]time.Time{at(2)}, missed),
		}, sim.Known},
		{"a tick has another's token", sim.Record{
			Events:  history(won("a", 1, 3, 0, 5), then("a", 6, sim.Began), then("a", 7, sim.Returned)),
			Ledgers: ledger([]time.Time{at(1)}, ran),
		}, sim.Known},
		{"a tick was missed for good", sim.Record{Ledgers: map[string]sim.Ledger{"job": {Lines: []sim.Line{missed}, CaughtUp: true}}}, sim.CaughtUp},
		{"a tick was missed in calm weather", sim.Record{Calm: true, Ledgers: ledger([]time.Time{at(2)}, missed)}, sim.Alive},
	}
}
