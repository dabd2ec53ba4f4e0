package main

const (
	scheduler      = "./scheduler"
	schedulePkg    = "./scheduler/schedule"
	scheduleDir    = "scheduler/schedule/"
	ledgerPkg      = "./scheduler/ledger"
	ledgerDir      = "scheduler/ledger/"
	schedulerDir   = "scheduler/"
	redisledger    = "./internal/redisledger"
	redisledgerDir = "internal/redisledger/"
)

// schedulerPlants are in what becomes of a tick, and in its record.
var schedulerPlants = []plant{
	{
		name: "engine: no stagger and no retry", promise: "A tick is not lost because replicas compete.",
		edits: []edit{
			{schedulerDir + "stagger.go", "return min(time.Duration(rank)*step, room/2)", "return 0"},
			{schedulerDir + "claim.go", "if tries == a.cfg.MaxTries || a.waits.Err() != nil {", "if true {"},
		},
		pkg: scheduler, tests: []string{"TestEveryTickOnceUnderContention"},
	},
	{
		name: "engine: replicas all rank first", promise: "Replicas try one after the other, in an order that changes with the tick.",
		edits: []edit{{schedulerDir + "rank.go", "return w > own || w == own && replica > self", "return w > own && w == own"}},
		pkg:   scheduler, tests: []string{"TestRanksAreAPermutation", "TestRankIsPinned"},
	},
	{
		name: "engine: release skipped", promise: "A run that has ended frees the lock and says how it ended.",
		edits: []edit{{schedulerDir + "run.go", "released := x.release(entry, x.lease.Release)", "var released error"}},
		pkg:   scheduler, tests: []string{"TestHowRunsEnd"},
	},
	{
		name: "engine: useless claim kept", promise: "A claim that comes too late to be used is given back.",
		edits: []edit{{schedulerDir + "claim.go", "a.void(lease)\n\t\treturn nil, took, locking.ErrTooSlow", "return nil, took, locking.ErrTooSlow"}},
		pkg:   scheduler, tests: []string{"TestUselessClaimIsVoided"},
	},
	{
		name: "engine: timeout ignored", promise: "The context of a run ends at the job's timeout.",
		edits: []edit{{schedulerDir + "tries.go", "if x.job.Timeout > 0 {", "if x.job.Timeout < 0 {"}},
		pkg:   scheduler, tests: []string{"TestHowRunsEnd"},
	},
	{
		name: "engine: runs overlap", promise: "A replica has one run of a job at a time, whatever became of its lease.",
		edits: []edit{{schedulerDir + "overlap.go", "if run == nil || !ok {", "if run == nil || !ok || ok {"}},
		pkg:   scheduler, tests: []string{"TestOverlapSkip", "TestOverdue", "TestDeafWithoutLease"},
	},
	{
		name: "engine: jitter ignored", promise: "Jitter delays the start of a tick, on every replica by as much.",
		edits: []edit{{schedulerDir + "tick.go", "return at.Add(Jitter(j.key(), at, limit))", "_ = limit\n\treturn at"}},
		pkg:   scheduler, tests: []string{"TestJitterDelaysTheStart", "TestScheduledTicks"},
	},
	{
		name: "engine: queued tick gives up", promise: "With overlap queue a tick waits beyond its window for the run to end.",
		edits: []edit{{schedulerDir + "overlap.go", "a.patient() && end.After(a.until)", "false && end.After(a.until)"}},
		pkg:   scheduler, tests: []string{"TestOverlapQueue", "TestQueuedBehindTheDead"},
	},
	{
		name: "engine: previous run not cancelled", promise: "With overlap cancel_previous the run is asked to stop when the next tick comes.",
		edits: []edit{{schedulerDir + "overlap.go", "if run.tick.at.Before(t.at) {", "if run.tick.at.After(t.at) {"}},
		pkg:   scheduler, tests: []string{"TestOverlapCancelPrevious"},
	},
	{
		name: "catch-up: first live tick goes first", promise: "What is caught up is claimed before later ticks, which would close it.",
		edits: []edit{{schedulerDir + "lane.go", "l.claiming == nil && l.scans == 0 &&", "l.claiming == nil &&"}, {schedulerDir + "scan.go", "func (e *engine) scanAll(ctx context.Context, urgent []*scan) {\n", "func (e *engine) scanAll(ctx context.Context, urgent []*scan) {\n\tsleep(ctx, time.Hour)\n"}},
		pkg:   scheduler, tests: []string{"TestSixHoursDown"},
	},
	{
		name: "catch-up: downtime unsaid", promise: "Ticks that came while no replica ran are accounted for.",
		edits: []edit{{schedulerDir + "scan.go", "l.insert(t)", "_ = t"}},
		pkg:   scheduler, tests: []string{"TestSixHoursDown"},
	},
	{
		name: "catch-up: no bound", promise: "No more than max ticks are caught up after an outage.",
		edits: []edit{{schedulerDir + "catchup.go", "case late >= c.Max:", "case false:"}},
		pkg:   scheduler, tests: []string{"TestSixHoursDown", "TestWhatIsCaughtUp"},
	},
	{
		name: "account: what is not recorded yet", promise: "A job is accounted for no further than the ledger has its ticks.",
		edits: []edit{{schedulerDir + "recorder_open.go", "a.until[key] = open.since", "_ = open.since"}},
		pkg:   scheduler, tests: []string{"TestAccountWaitsForTheLedger"},
	},
	{
		name: "rerun: the dead are not watched", promise: "With on_crash rerun a tick whose replica died is run again elsewhere.",
		edits: []edit{{schedulerDir + "rerun.go", "return ok && a.job.OnCrash == CrashRerun &&", "return ok && a.job.OnCrash == CrashSkip &&"}},
		pkg:   scheduler, tests: []string{"TestRerun"},
	},
	{
		name: "rerun: although at most once", promise: "Without rerun an interrupted tick is not claimed again.",
		edits: []edit{{schedulerDir + "rerun.go", "if j.OnCrash == CrashRerun {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestModeOfClaims"},
	},
	{
		name: "engine: lost lease called success", promise: "A run whose lease was lost is not recorded as succeeded.",
		edits: []edit{{schedulerDir + "outcome.go", "case errors.Is(cause, locking.ErrLeaseLost):", "case err != nil && errors.Is(cause, locking.ErrLeaseLost):"}},
		pkg:   scheduler, tests: []string{"TestOutcome"},
	},
	{
		name: "engine: slept-through ticks unsaid", promise: "Every tick has an outcome, also those the replica slept through.",
		edits: []edit{{schedulerDir + "oversleep.go", "e.decided(j.Job, t, missedFor(why))", "_ = t"}},
		pkg:   scheduler, tests: []string{"TestSuspend", "TestNight"},
	},
	{
		name: "engine: drain cancels at once", promise: "A drain lets runs go on for the drain timeout.",
		edits: []edit{{schedulerDir + "drain.go", "timer := time.NewTimer(e.cfg.DrainTimeout)", "timer := time.NewTimer(0)"}},
		pkg:   scheduler, tests: []string{"TestDrain"},
	},
	{
		name: "schedule: tick in a DST gap is lost", promise: "A tick whose time is left out in spring runs after the gap.",
		edits: []edit{{scheduleDir + "zoned.go", "return z.dst.Gap == DSTGapRunAfter && !z.spec.everyHour()", "return false"}},
		pkg:   schedulePkg, tests: []string{"TestChangesOfTheClocks"},
	},
	{
		name: "schedule: tick runs twice in autumn", promise: "A tick whose time comes twice in autumn runs once.",
		edits: []edit{{scheduleDir + "zoned.go", "return z.dst.Overlap == DSTOverlapFirst && !z.spec.everyHour()", "return false"}},
		pkg:   schedulePkg, tests: []string{"TestChangesOfTheClocks"},
	},
	{
		name: "schedule: @every from the start", promise: "All replicas compute the same ticks of @every.",
		edits: []edit{{scheduleDir + "every.go", "return time.UnixMilli(since - into + step + offset).UTC()", "return after.Add(e.Interval).UTC()"}},
		pkg:   schedulePkg, tests: []string{"TestEveryIsAlignedToTheEpoch"},
	},
	{
		name: "recorder: gives up in an outage", promise: "What was missed in an outage is in the ledger after it.",
		edits: []edit{{schedulerDir + "recorder.go", "if d.told = true; later {", "if d.told = true; later && false {"}},
		pkg:   scheduler, tests: []string{"TestRecorder", "TestRecorderIsPatient"},
	},
	{
		name: "ledger: start hides the finish", promise: "Of one claim, its end says more than its start.",
		edits: []edit{{redisledgerDir + "merge.go", `strings.IndexByte("SLF", r.Kind)`, `strings.IndexByte("FLS", r.Kind)`}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: miss before skip", promise: "Replicas that missed a tick do not hide why it was skipped.",
		edits: []edit{{redisledgerDir + "merge.go", "r.Rank > best.Rank ||", "r.Rank < best.Rank ||"}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: dead run shown as running", promise: "A start without a finish reads as interrupted once its lease has run out.",
		edits: []edit{{redisledgerDir + "merge.go", "c.held = c.held || r.Owner", "c.held = true || r.Owner"}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: read without a quorum", promise: "A listing that too few nodes answer is an error, never a part of the truth.",
		edits: []edit{{nodesDir + "reply.go", "if len(good) >= s.Quorum() {", "if len(good) > 0 {"}},
		pkg:   redisledger, tests: []string{"TestNoQuorum"},
	},
}
