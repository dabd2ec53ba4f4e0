package main

const (
	quorumledger = "internal/store/quorum/ledger/"
	oneledger    = "internal/store/single/ledger/"
)

var outcomes = promise{
	page: "guarantees/ledger.md",
	text: "The ledger has an outcome for each tick, also for those that did not run.",
	plants: []plant{
		{"N5: FINISH keeps records without bound", rules, []edit{
			{scripts + "finish.lua", "trim(runs_key, num(-tonumber(keep) - 1))", ""},
		}},
		{"N5: the last success is forgotten with its record", in(quorumledger, "TestUnseenDropsMakeTheLastSuccessUnknown"), []edit{
			{scripts + "trim.lua", "known[kind] = tick\n", "known[kind] = known[kind]\n"},
		}},
		{"N5: what an older release dropped counts as known", in(quorumledger, "TestUnseenDropsMakeTheLastSuccessUnknown"), []edit{
			{scripts + "trim.lua", "if tonumber(seen or '') == before then", "if seen then"},
		}},
		{"N7: RECORD keeps the lower record", in(quorumledger, "TestScriptsAgreeWithTheModel").saying(theModel), []edit{
			{quorumledger + "record.lua", "redis.call('ZREM', notes, highest)", "redis.call('ZREM', notes, record)"},
		}},
		{"C5: an outage is called a lost race", in(redlock, "TestReason", "TestReasonOfAllVectors"), []edit{
			{redlock + "verdict.go", "case failed >= blocking:", "case failed > len(votes):"},
		}},
		{"C5: a tick that two gave up is in no ledger", in(engine, "TestTickThatTwoGaveUp"), []edit{
			{engine + "internal/attempt/attempt.go", "a.shown = a.shown || ok && refused.MayShow", "_, _ = refused, ok"},
		}},
		{"C5: silent nodes count as those that refuse", in(redlock, "TestRefusalSaysWhetherTheClaimMayShow"), []edit{
			{redlock + "try.go", "v.ok() || v.partial() || s.silent || s.inFlight > 0", "s.inFlight < 0 || v.ok() || v.partial()"},
		}},
		{"C5: a lock without a claim is called an overlap", in(redlock, "TestReason"), []edit{
			{redlock + "verdict.go", "case held(votes, quorum) && unclaimed(votes):", "case false:"},
		}},
		{"ledger: a run of which nothing is heard goes on", in(engine, "TestWatchedDuringAnOutage"), []edit{
			{engine + "internal/attempt/look.go", "if a.window.watched && undecided(err)", "if false && undecided(err)"},
		}},
		{"ledger: the end of a run is missing", in(engine, "TestHowRunsEnd"), []edit{
			{engine + "internal/attempt/finish.go", "released := r.release(entry, free)", "_, released := free, error(nil)"},
		}},
		{"ledger: a run without its lease succeeded", in(engine+"internal/attempt/", "TestOutcome"), []edit{
			{engine + "internal/attempt/finish.go", "case errors.Is(cause, locking.ErrLeaseLost):", "case err != nil && errors.Is(cause, locking.ErrLeaseLost):"},
		}},
		{"ledger: nil after the context ended is a success", in(engine+"internal/attempt/", "TestOutcome"), []edit{
			{engine + "internal/attempt/finish.go", "case err == nil && cause == nil:", "case err == nil:"},
		}},
		{"ledger: a dead run is running", in(quorumledger, "TestMerge"), []edit{
			{quorumledger + "merge.go", "c.held = c.held || r.Owner", "c.held = true || r.Owner"},
		}},
		{"ledger: a minority of nodes is read", in(quorumledger, "TestNoQuorum"), []edit{
			{members + "set.go", "if len(good) >= s.Quorum() {", "if len(good) > 0 {"},
		}},
		{"store: a dead run is running", in(oneledger, "TestLedgerConforms", "TestInterruptedWhenTheLeaseEnds"), []edit{
			{oneledger + "read.go", "if lease.Of(of, now).Open() {", "if of.Of(lease.Owner).Open() {"},
		}},
		{"store: RECORD does not compare", in(oneledger, "TestRecordsUnderFaults", "TestFirstDespiteALostAnswer"), []edit{
			{oneledger + "ledger.go", "If: unchanged(list[0]), Put", "If: []kv.Compare{{Key: records.EntryKey(job, records.Entry{})}}, Put"},
		}},
		{"store: a late log replaces that of the end", in(oneledger, "TestLateLog"), []edit{
			{oneledger + "archive.go", "if err == nil && old.At.IsZero() && !log.At.IsZero() {", "if false && old.At.IsZero() {"},
		}},
		{"store: ticks whose run was dropped are missed", in(oneledger, "TestListingsAreThoseOfAModel"), []edit{
			{oneledger + "ledger.go", "case own.Tick <= p.Trimmed, list", "case p.Trimmed < 0, list"},
		}},
		{"ledger: ticks before the start are missing", in(engine, "TestSixHoursDown"), []edit{
			{engine + "pasts.go", "q.insert(t)", "_ = t"},
		}},
		{"ledger: slept-through ticks are missing", in(engine, "TestSuspend", "TestNight"), []edit{
			{engine + "pasts.go", "e.rec.Decided(j.Job, t, job.MissedFor(why))", "_ = t"},
		}},
		{"ledger: ticks of an outage are missing", in(sim, "TestSim").saying("is not in the ledger"), []edit{
			{engine + "internal/recorder/recorder.go", "if d.notified = true; passing {", "if d.notified = true; passing && false {"},
		}},
		{"ledger: each replica that wakes tells of a miss", in(replica, "TestFrozenReplicasTellWhatTheLedgerHas"), []edit{
			{engine + "internal/recorder/recorder.go", "!first || !r.Settles", "!first && !r.Settles"},
		}},
		{"ledger: a tick that ran elsewhere is told missed", in(replica, "TestFrozenReplicasTellWhatTheLedgerHas"), []edit{
			{engine + "internal/recorder/recorder.go", "case known.Ran():", "case known.Ran() && false:"},
		}},
		{"ledger: unrecorded ticks count as recorded", in(engine, "TestAccountWaitsForTheLedger"), []edit{
			{engine + "internal/recorder/recorder.go", "a.Until[key] = open.since", "_ = open.since"},
		}},
	},
}
