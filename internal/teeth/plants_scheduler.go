package main

const (
	scheduler    = "./scheduler"
	schedulerDir = "scheduler/"
	redisledger  = "./scheduler/redisledger"
	ledgerDir    = "scheduler/redisledger/"
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
		name: "engine: clocks that are off change no rank", promise: "A replica beyond scheduler.max_clock_offset ranks last, on every replica's reckoning alike.",
		edits: []edit{{schedulerDir + "rank.go", "return right + skewedBefore, crowd, lead", "return before, crowd, lead"}},
		pkg:   scheduler, tests: []string{"TestSkewedReplicasRankLast"},
	},
	{
		name: "listing: paused ticks announced", promise: "A tick that a pause makes be skipped is shown as such.",
		edits: []edit{{"scheduler/listing/next.go", "d.MarkNext(rows, open.Pauses)", "d.MarkNext(nil, open.Pauses)"}},
		pkg:   "./scheduler/listing", tests: []string{"TestNextSaysWhatIsPaused"},
	},
	{
		name: "nodes: slow is down", promise: "A node that is late once is asked again before it counts as down.",
		edits: []edit{{nodesDir + "inspect.go", "if late(v.reply.Err) && ctx.Err() == nil {", "if late(v.reply.Err) && ctx.Err() != nil {"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestInspectTellsSlowFromDown"},
	},
	{
		name: "engine: release skipped", promise: "A run that has ended frees the lock and says how it ended.",
		edits: []edit{{schedulerDir + "run.go", "released := a.release(entry, a.lease.Release)", "var released error"}},
		pkg:   scheduler, tests: []string{"TestHowRunsEnd"},
	},
	{
		name: "engine: useless claim kept", promise: "A claim that comes too late to be used is given back.",
		edits: []edit{{schedulerDir + "claim.go", "a.void(lease)\n\t\treturn nil, took, locking.ErrTooSlow", "return nil, took, locking.ErrTooSlow"}},
		pkg:   scheduler, tests: []string{"TestUselessClaimIsVoided"},
	},
	{
		name: "engine: timeout ignored", promise: "The context of a run ends at the job's timeout.",
		edits: []edit{{schedulerDir + "tries.go", "if a.job.Timeout > 0 {", "if a.job.Timeout < 0 {"}},
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
		name: "engine: restart forgets jittered ticks", promise: "A tick that is due but delayed by its jitter survives a restart.",
		edits: []edit{{schedulerDir + "tick.go", "j.Schedule.Next(now.Add(-max(j.Jitter, 0)))", "j.Schedule.Next(now)"}},
		pkg:   scheduler, tests: []string{"TestRestartWithinTheJitter"},
	},
	{
		name: "engine: queued tick gives up", promise: "With overlap queue a tick waits beyond its window for the run to end.",
		edits: []edit{{schedulerDir + "overlap.go", "a.patient() && end.After(a.until)", "false && end.After(a.until)"}},
		pkg:   scheduler, tests: []string{"TestOverlapQueue", "TestQueuedBehindTheDead"},
	},
	{
		name: "engine: ticks queue up", promise: "With overlap queue one tick waits, the last one.",
		edits: []edit{{schedulerDir + "wait.go", "return closing.outcome == Skipped && a.patient()", "return false"}},
		pkg:   scheduler, tests: []string{"TestOverlapQueue"},
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
		name: "catch-up: read too late is not read", promise: "A past that cannot be read in time to be caught up is accounted for later.",
		edits: []edit{{schedulerDir + "scan.go", "(!s.urgent || now.Before", "(now.Before"}},
		pkg:   scheduler, tests: []string{"TestPastThatIsReadTooLate"},
	},
	{
		name: "catch-up: given up with the window", promise: "A tick without a quorum is tried again until its catch-up window ends.",
		edits: []edit{{schedulerDir + "catchup.go", "a.caughtUp || closing.outcome != Missed ||", "true || closing.outcome != Missed ||"}},
		pkg:   scheduler, tests: []string{"TestCatchUpAfterAnOutage"},
	},
	{
		name: "catch-up: no bound", promise: "No more than max ticks are caught up after an outage.",
		edits: []edit{{schedulerDir + "catchup.go", "case late >= c.Max:", "case false:"}},
		pkg:   scheduler, tests: []string{"TestSixHoursDown", "TestWhatIsCaughtUp"},
	},
	{
		name: "catch-up: never on time again", promise: "A tick that comes while an earlier run of its job goes on is skipped, also while others are caught up.",
		edits: []edit{{schedulerDir + "behind.go", "if t.trigger != BySchedule ||", "if true || t.trigger != BySchedule ||"}},
		pkg:   scheduler, tests: []string{"TestCatchUpKeepsUp"},
	},
	{
		name: "catch-up: at once", promise: "What is caught up is spread out.",
		edits: []edit{{schedulerDir + "catchup.go", "limit := longestCatchUpPause", "limit := time.Duration(0)"}, {schedulerDir + "scan.go", "pace := min(scanPace, longestPace/time.Duration(len(urgent)))", "pace := time.Duration(0)"}},
		pkg:   scheduler, tests: []string{"TestCatchUpIsNoFlood"},
	},
	{
		name: "catch-up: ledger ignored", promise: "What others ran while this replica slept is not tried again.",
		edits: []edit{{schedulerDir + "past.go", "e.Outcome != Missed || e.Reason.Code == CodeCatchUp", "e.Reason.Code == CodeCatchUp"}},
		pkg:   scheduler, tests: []string{"TestUndecidedPast"},
	},
	{
		name: "catch-up: later runs end the account", promise: "A replica that slept accounts for ticks of its version of a job, whatever others ran.",
		edits: []edit{{schedulerDir + "past.go", "from := p.from.Add(-1)", "from := later(k.ran, p.from.Add(-1))"}},
		pkg:   scheduler, tests: []string{"TestUndecidedPast"},
	},
	{
		name: "account: a past that nobody has looked up", promise: "A gap stays open until its ticks have entries, whoever comes next.",
		edits: []edit{{schedulerDir + "accounted.go", "return len(e.unread[j]) == 0", "return true"}},
		pkg:   scheduler, tests: []string{"TestPastOfTheDead"},
	},
	{
		name: "account: what is not recorded yet", promise: "A job is accounted for no further than the ledger has its ticks.",
		edits: []edit{{schedulerDir + "recorder_open.go", "a.until[key] = open.since", "_ = open.since"}},
		pkg:   scheduler, tests: []string{"TestAccountWaitsForTheLedger"},
	},
	{
		name: "account: removed by one replica", promise: "Ticks are nobody's only when the last replica has taken the job out.",
		edits: []edit{{schedulerDir + "publish_account.go", "if len(j.others) > 0 {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestRemovedByOneReplicaOnly"},
	},
	{
		name: "overlap: replaced before it begins", promise: "A run that begins when the tick that replaces it has come is asked to stop.",
		edits: []edit{{schedulerDir + "lane.go", "\te.replaceBegun(a)\n", ""}},
		pkg:   scheduler, tests: []string{"TestReplacedBeforeItBegins"},
	},
	{
		name: "overlap: paused ticks replace", promise: "A tick that is skipped because its job is paused ends no run.",
		edits: []edit{{schedulerDir + "overlap.go", "t.act == nil && !j.paused(e.pauses).IsZero()", "false"}},
		pkg:   scheduler, tests: []string{"TestPausedTicksReplaceNothing"},
	},
	{
		name: "catch-up: dropped while another catches up", promise: "What waits to be caught up is not skipped because another replica runs the first of it.",
		edits: []edit{{schedulerDir + "lane.go", "l.claiming.watches && !l.claiming.catchesUp && t.trigger != ByCatchUp", "l.claiming.watches"}},
		pkg:   scheduler, tests: []string{"TestRerunWhileCatchingUp"},
	},
	{
		name: "catch-up: a window that is open", promise: "What came just before a replica started is caught up like the rest.",
		edits: []edit{{schedulerDir + "lane.go", "if (t.late(now) || t.trigger == ByCatchUp) &&", "if t.late(now) &&"}},
		pkg:   scheduler, tests: []string{"TestCatchUpWithinTheWindow"},
	},
	{
		name: "rerun: watched for nothing", promise: "A tick that was watched, and that nobody began, has an outcome.",
		edits: []edit{{schedulerDir + "attempt.go", "case a.watched && a.begun():", "case a.watched:"}},
		pkg:   scheduler, tests: []string{"TestWatchedForNothing"},
	},
	{
		name: "rerun: the dead are not watched", promise: "With on_crash rerun a tick whose replica died is run again elsewhere.",
		edits: []edit{{schedulerDir + "rerun.go", "return ok && a.job.OnCrash == CrashRerun &&", "return ok && a.job.OnCrash == CrashSkip &&"}},
		pkg:   scheduler, tests: []string{"TestRerun"},
	},
	{
		name: "rerun: later ticks do not wait", promise: "A tick that is to be run again comes before later ones.",
		edits: []edit{{schedulerDir + "rerun.go", "case <-timer.C:\n\tcase <-later:", "case <-timer.C:\n\tcase <-later:\n\t\ta.stopWaiting(errTooMany)"}},
		pkg:   scheduler, tests: []string{"TestRerun"},
	},
	{
		name: "rerun: what was given up is forgotten", promise: "Who gave a tick up makes sure, before it claims a later one, that no run of it was interrupted.",
		edits: []edit{{schedulerDir + "lookback.go", "unsure: l.unsure && t.trigger != ByRerun", "unsure: false"}, {schedulerDir + "claim.go", "\ta.doubt(err)\n", ""}},
		pkg:   scheduler, tests: []string{"TestRerunOfWhatNobodyWatched"},
	},
	{
		name: "rerun: looked for again and again", promise: "A tick that cannot be run again is tried once, and later ones go on.",
		edits: []edit{{schedulerDir + "lookback.go", "case t.at.After(h.again):", "case !t.isZero():"}},
		pkg:   scheduler, tests: []string{"TestLookBackOnce"},
	},
	{
		name: "rerun: ticks of a removed job come back", promise: "A job that was removed claims nothing any more, and accounts for what waited.",
		edits: []edit{{schedulerDir + "lookback.go", "case !e.serves(a.owner):", "case false:"}},
		pkg:   scheduler, tests: []string{"TestLookBackAndLeave"},
	},
	{
		name: "rerun: a lost lease is no end", promise: "A run that lost its lease and could say so is not run again.",
		edits: []edit{{schedulerDir + "run.go", "\tbegan := time.Now()\n\tleft :=", "\tif entry.Outcome == LeaseLost {\n\t\treturn nil\n\t}\n\tbegan := time.Now()\n\tleft :="}},
		pkg:   scheduler, tests: []string{"TestRerunOfALostLease"},
	},
	{
		name: "rerun: start forgets", promise: "A run that was interrupted when all replicas died is run again by the first one that starts.",
		edits: []edit{{schedulerDir + "scan.go", "l.insert(s.found.rerun)", "_ = s.found.rerun"}},
		pkg:   scheduler, tests: []string{"TestRerunAfterAStart"},
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
		name: "engine: drain goes on claiming", promise: "A replica that drains takes no new ticks.",
		edits: []edit{{schedulerDir + "drain.go", "e.stopClaims(jobs.ErrDraining)\n\te.cfg", "e.cfg"}},
		pkg:   scheduler, tests: []string{"TestDrainEndsClaims"},
	},
	{
		name: "engine: clock set back, ticks wait", promise: "After the clock was set back, ticks come by the new time.",
		edits: []edit{{schedulerDir + "engine.go", "e.replan()", ""}},
		pkg:   scheduler, tests: []string{"TestClockSetBack", "TestClockMended"},
	},
	{
		name: "schedule: tick in a DST gap is lost", promise: "A tick whose time is left out in spring runs after the gap.",
		edits: []edit{{schedulerDir + "zoned.go", "return z.dst.Gap == DSTGapRunAfter && !z.spec.everyHour()", "return false"}},
		pkg:   scheduler, tests: []string{"TestChangesOfTheClocks"},
	},
	{
		name: "schedule: tick runs twice in autumn", promise: "A tick whose time comes twice in autumn runs once.",
		edits: []edit{{schedulerDir + "zoned.go", "return z.dst.Overlap == DSTOverlapFirst && !z.spec.everyHour()", "return false"}},
		pkg:   scheduler, tests: []string{"TestChangesOfTheClocks"},
	},
	{
		name: "schedule: end of a leap year", promise: "Schedules go on through the last day of a leap year.",
		edits: []edit{{schedulerDir + "zoned.go", "if seg.end <= at {", "if seg.end <= at-1e18 {"}},
		pkg:   scheduler, tests: []string{"TestSegmentsEndAfterTheyBegin", "TestLastDayOfALeapYear"},
	},
	{
		name: "schedule: @every from the start", promise: "All replicas compute the same ticks of @every.",
		edits: []edit{{schedulerDir + "every.go", "return time.UnixMilli(since - into + step + offset).UTC()", "return after.Add(e.Interval).UTC()"}},
		pkg:   scheduler, tests: []string{"TestEveryIsAlignedToTheEpoch"},
	},
	{
		name: "schedule: W leaves its month", promise: "15W and its like are days of the same month.",
		edits: []edit{{schedulerDir + "schedule_rule.go", "case weekday == time.Sunday && day == m.days:\n\t\treturn day - 2\n", ""}},
		pkg:   scheduler, tests: []string{"TestDaysAgainstWalk", "TestParseScheduleAccepts"},
	},
	{
		name: "schedule: 31 of February", promise: "A month has no tick on a day that it does not have.",
		edits: []edit{{schedulerDir + "schedule_days.go", "return matching & (1<<(month.days+1) - 2) //", "return matching &^ 1 //"}},
		pkg:   scheduler, tests: []string{"TestDaysAgainstWalk"},
	},
	{
		name: "schedule: rules for days join by and", promise: "A day matches if one of two restricted day fields does, also with L, W and #.",
		edits: []edit{{schedulerDir + "schedule_days.go", "both:         f[domField].star || f[dowField].star,", "both:         true,"}},
		pkg:   scheduler, tests: []string{"TestDaysAgainstWalk", "TestNextAgainstWalk"},
	},
	{
		name: "schedule: wrapped range loses its end", promise: "22-2 is 22, 23, 0, 1 and 2.",
		edits: []edit{{schedulerDir + "schedule_field.go", "s.hi += k.size()", "s.hi = k.max"}},
		pkg:   scheduler, tests: []string{"TestNextAgainstWalk", "TestExplain"},
	},
	{
		name: "schedule: H the same in all fields", promise: "The hour and the minute that H chooses are apart.",
		edits: []edit{{schedulerDir + "schedule_hash.go", "nameHash(name, k.name)", "nameHash(name, \"\")"}},
		pkg:   scheduler, tests: []string{"TestHashSpreads"},
	},
	{
		name: "schedule: calendar ignores the change of clocks", promise: "Excluded days are days on the wall clock, also where the clocks change.",
		edits: []edit{{schedulerDir + "calendar.go", "min(end-seg.offset, seg.end)", "end-seg.offset"}},
		pkg:   scheduler, tests: []string{"TestCompoundAgainstWalk"},
	},
	{
		name: "schedule: start left out", promise: "starts_at is part of the schedule's time.",
		edits: []edit{{schedulerDir + "between.go", "return b.start.Add(-time.Nanosecond)", "return b.start"}},
		pkg:   scheduler, tests: []string{"TestBoundsAreInclusiveAndExclusive"},
	},
	{
		name: "schedule: end included", promise: "ends_at is not part of the schedule's time.",
		edits: []edit{{schedulerDir + "between.go", "return b.end.IsZero() || tick.Before(b.end)", "return b.end.IsZero() || !tick.After(b.end)"}},
		pkg:   scheduler, tests: []string{"TestBoundsAreInclusiveAndExclusive"},
	},
	{
		name: "schedule: calendar in the job's zone only", promise: "A day of a calendar is one in the zone of the spec.",
		edits: []edit{{schedulerDir + "exclude.go", "zone = s.loc", "_ = s.loc"}},
		pkg:   scheduler, tests: []string{"TestCalendarZones"},
	},
	{
		name: "schedule: wrapped days end early", promise: "*-12-24..*-01-01 goes on into the next year.",
		edits: []edit{{schedulerDir + "calendar_dates.go", "wraps = 1", "wraps = 0"}},
		pkg:   scheduler, tests: []string{"TestCalendarDays"},
	},
	{
		name: "schedule: other rules of calendars passed over", promise: "An event whose rule is not understood is refused.",
		edits: []edit{{schedulerDir + "ics_rule.go", "case !r.set(key, value, s):", "case !r.set(key, value, s) && false:"}},
		pkg:   scheduler, tests: []string{"TestICSRefuses"},
	},
	{
		name: "schedule: definition without the policy", promise: "What is published of a schedule has all of its ticks.",
		edits: []edit{{schedulerDir + "definition.go", "DST: DSTPolicy{d.Gap, d.Overlap}, ", ""}},
		pkg:   scheduler, tests: []string{"TestDefinitionsAreWhole"},
	},
	{
		name: "jitter: by the replica's luck", promise: "A tick starts at the same instant on every replica.",
		edits: []edit{{schedulerDir + "jitter.go", "weight(job, tick, \"jitter\")%ms", "uint64(time.Now().UnixNano())%ms"}},
		pkg:   scheduler, tests: []string{"TestJitterIsTheSameEverywhere"},
	},
	{
		name: "recorder: gives up in an outage", promise: "What was missed in an outage is in the ledger after it.",
		edits: []edit{{schedulerDir + "recorder.go", "if d.told = true; later {", "if d.told = true; later && false {"}},
		pkg:   scheduler, tests: []string{"TestRecorder", "TestRecorderIsPatient"},
	},
	{
		name: "recorder: one after the other", promise: "However many outcomes are decided at once, all are in the ledger soon.",
		edits: []edit{{schedulerDir + "recorder.go", "recordsAtOnce    = 256", "recordsAtOnce    = 1"}},
		pkg:   scheduler, tests: []string{"TestManyOutcomesAreRecordedSoon", "TestOutcomesAreInTheLedgerInTime"},
	},
	{
		name: "recorder: last ones lost at the end", promise: "A replica that ends brings what it queued to the ledger.",
		edits: []edit{{schedulerDir + "recorder.go", "case <-r.ended:\n\tcase <-timer.C:", "case <-r.ended:\n\tdefault:"}},
		pkg:   scheduler, tests: []string{"TestRecorder"},
	},
	{
		name: "ledger: start hides the finish", promise: "Of one claim, its end says more than its start.",
		edits: []edit{{ledgerDir + "merge.go", `strings.IndexByte("SLF", r.Kind)`, `strings.IndexByte("FLS", r.Kind)`}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: late end hides a finish", promise: "A node that missed the commit does not make a good end a late one.",
		edits: []edit{{ledgerDir + "merge.go", `strings.IndexByte("SLF", r.Kind)`, `strings.IndexByte("SFL", r.Kind)`}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: miss before skip", promise: "Replicas that missed a tick do not hide why it was skipped.",
		edits: []edit{{ledgerDir + "merge.go", "r.Rank > best.Rank ||", "r.Rank < best.Rank ||"}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: the lost attempt is listed", promise: "A claim that few nodes know of gives way to the run of the tick.",
		edits: []edit{{ledgerDir + "choose.go", "return k.doubtful && certain[of(k)]", "return false && certain[of(k)]"}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: dead run shown as running", promise: "A start without a finish reads as interrupted once its lease has run out.",
		edits: []edit{{ledgerDir + "merge.go", "c.held = c.held || slices.Contains(owners, r.Owner)", "c.held = c.held || slices.Contains(owners, r.Owner) || true"}},
		pkg:   redisledger, tests: []string{"TestMerge"},
	},
	{
		name: "ledger: last word of a tick stays", promise: "Of several records of a tick that did not run the highest stays on each node.",
		edits: []edit{{ledgerDir + "record.lua", "redis.call('ZREM', notes, highest)", "redis.call('ZREM', notes, record)"}},
		pkg:   redisledger, tests: []string{"TestDrainingReplicaKnowsLeast", "TestScriptsAgreeWithTheModel"},
	},
	{
		name: "ledger: records of the future", promise: "A node keeps no record of a tick far ahead of its clock.",
		edits: []edit{{ledgerDir + "record.lua", "now + gracems / 2 then", "now + 1000 * gracems then"}},
		pkg:   redisledger, tests: []string{"TestRecordOfTheFuture"},
	},
	{
		name: "ledger: read without a quorum", promise: "A listing that too few nodes answer is an error, never a part of the truth.",
		edits: []edit{{nodesDir + "answers.go", "if len(good) >= s.Quorum() {", "if len(good) > 0 {"}},
		pkg:   redisledger, tests: []string{"TestNoQuorum"},
	},
}
