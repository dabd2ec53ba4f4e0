package main

const (
	acquireGo = "locking/acquire.go"
	retryGo   = "locking/retry.go"
	groupGo   = "locking/group.go"
)

// lockPlants are in the lock as a library of its own: how it is acquired, kept
// and given back, alone and with others.
var lockPlants = []plant{
	{
		name: "lock: what is final is retried", promise: "A tick that is done is not asked for again and again.",
		edits: []edit{{acquireGo, "if hopeless(err, req) || tries == retry.Tries {", "if tries == retry.Tries {"}},
		pkg:   locking, tests: []string{"TestAcquireRetriesWhatMayPass"}, says: "want 1 tries",
	},
	{
		name: "lock: pauses without jitter", promise: "Competitors do not go on meeting each other.",
		edits: []edit{{retryGo, "pause := r.Min + rand.N(limit-r.Min+1)", "pause := limit"}},
		pkg:   locking, tests: []string{"TestAcquirePausesWithFullJitter"}, says: "want jitter",
	},
	{
		name: "lock: all wake when a lease ends", promise: "Those who wait for the end of a lease come after it one by one.",
		edits: []edit{{retryGo, "pause = max(pause, left+rand.N(limit))", "pause = max(pause, left)"}},
		pkg:   locking, tests: []string{"TestAcquireWaitsForTheEndOfALease"}, says: "different instants",
	},
	{
		name: "lock: acquired beside what is held", promise: "Nobody holds a lock twice: what may still be extended is not acquired anew.",
		edits: []edit{{acquireGo, "case errors.Is(err, ErrLeaseLost):", "case true:"}},
		pkg:   locking, tests: []string{"TestAcquireOrExtendNeverHasBoth"}, says: "and none",
	},
	{
		name: "lock: lost lease left in the way", promise: "Whoever has lost a lock does not wait for the remains of his own lease.",
		edits: []edit{{acquireGo, "_ = held.Release(ctx, nil) // says again that it is lost", ""}},
		pkg:   locking, tests: []string{"TestAcquireOrExtend"}, says: "want a lease after 1",
	},
	{
		name: "lock: given back with the caller's context", promise: "Locks of a group that did not come about are free at once, also when the caller gave up.",
		edits: []edit{{groupGo, "context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)", "context.WithTimeout(ctx, giveBackTimeout)"}},
		pkg:   locking, tests: []string{"TestAcquireAllEndsWithItsContext"}, says: "the lock that was given back",
	},
	{
		name: "lock: half a group is kept", promise: "Of several locks all are held, or none.",
		edits: []edit{{groupGo, "return nil, errors.Join(err, won.giveBack(ctx))", "return nil, err"}},
		pkg:   locking, tests: []string{"TestAcquireAllOrNothing"}, says: "want [\"acquire a\" \"acquire b\" \"void b\" \"void a\"]",
	},
	{
		name: "lock: group in the caller's order", promise: "Two who want the same locks never wait for each other.",
		edits: []edit{{groupGo, "return cmp.Compare(a.Name, b.Name)", "return cmp.Compare(len(a.Name), len(b.Name))"}},
		pkg:   locking, tests: []string{"TestAcquireAllGoesByName"}, says: "want [\"acquire a\"",
	},
	{
		name: "lock: group not kept while it waits", promise: "Locks of a group are still held when the last one is won.",
		edits: []edit{{groupGo, "HoldConfig{Every: shortest(reqs) / 3}", "HoldConfig{Every: 1000 * shortest(reqs)}"}},
		pkg:   locking, tests: []string{"TestAcquireAllKeepsWhatItHas"}, says: "lease lost",
	},
	{
		name: "lock: group lasts as long as any lease", promise: "A group is over with the first of its leases.",
		edits: []edit{{groupGo, "d.Before(end)", "d.After(end)"}},
		pkg:   locking, tests: []string{"TestGroupEndsWithItsFirstLease"}, says: "shortest lease",
	},
	{
		name: "hold: no cap", promise: "A run that never ends does not keep its lock for ever.",
		edits: []edit{{holdGo, "k.limit = k.begun.Add(cfg.MaxHold)", "k.limit = k.begun.Add(1000 * cfg.MaxHold)"}},
		pkg:   locking, tests: []string{"TestMaxHold"}, says: "extended at",
	},
	{
		name: "hold: extended beyond the cap", promise: "No lease outlasts its cap.",
		edits: []edit{{holdGo, "if room < 0 {", "if room < -k.cfg.MaxHold {"}},
		pkg:   locking, tests: []string{"TestMaxHold"}, says: "extended at",
	},
	{
		name: "hold: stops without waiting", promise: "No extension overtakes the release.",
		edits: []edit{{holdGo, "k.active.Wait()\n", "\n"}},
		pkg:   locking, tests: []string{"TestStopWaitsForAnExtension"}, says: "while an extension was under way",
	},
	{
		name: "release: expired called released", promise: "Whoever releases a lock that had run out learns it.",
		edits: []edit{{finishLua, "had and '0' or '1'", "'0'"}},
		pkg:   redlockPkg, tests: []string{"TestReleaseTellsTheEndsApart"}, says: "want it to match lease had run out",
	},
	{
		name: "release: asked again, answered otherwise", promise: "A release whose reply was lost says the same when it is asked again.",
		edits: []edit{{finishLua, "if held and done ~= '1' and done ~= '2' then", "if held then"}},
		pkg:   redlockPkg, tests: rules, says: "finish a 10 5: \"RANOUT\"",
	},
	{
		name: "release: one node is enough", promise: "A lease was held until its release only if a quorum says so.",
		edits: []edit{{redlock + "lease.go", "if !late && held >= s.a.set.Quorum() {", "if !late && held > 0 {"}},
		pkg:   redlockPkg, tests: []string{"TestReleaseTellsTheEndsApart"}, says: "want it to match lease had run out",
	},
	{
		name: "lock: taken up again", promise: "A lease whose deadline has passed is over, whatever the nodes know.",
		edits: []edit{{redlock + "lease.go", "s.over = s.over || locking.Expired(time.Now(), s.Deadline())\n\treturn s.over", "return false"}},
		pkg:   redlockPkg, tests: []string{"TestLeaseIsNotTakenUpAgain"},
	},
	{
		name: "lock: set again too late", promise: "A lock that had to be set again extends a lease only before its deadline.",
		edits: []edit{{redlock + "lease.go", "unbroken := count(votes, codeRenewed) >=", "unbroken := accepted(votes) >="}},
		pkg:   redlockPkg, tests: []string{"TestExtendAcrossTheDeadline"}, says: "and was set again",
	},
	{
		name: "lock: renewed by a late request", promise: "What an unanswered request may have set again does not count as held all the time.",
		edits: []edit{{redlock + "lease.go", "surely := !a.spares(node) && !a.open[node]", "surely := !a.spares(node)"}},
		pkg:   redlockPkg, tests: []string{"TestExtendAcrossTheDeadline"}, says: "nodes agreed\"",
	},
	{
		name: "release: operator's reason lost", promise: "A holder whose lock was released by force learns why.",
		edits: []edit{{redlock + "lease.go", "return &locking.EvictedError{Reason: v.reason}", "return locking.ErrLeaseLost"}},
		pkg:   redlockPkg, tests: []string{"TestEvictEndsTheRun"}, says: "the context ended with",
	},
	{
		name: "scheduler: max_hold ignored", promise: "lock.max_hold frees a job that hangs for other replicas.",
		edits: []edit{{schedulerDir + "keep.go", "keeping.MaxHold, keeping.Begun = a.cfg.MaxHold, a.from", "keeping.Begun = a.from"}},
		pkg:   "./scheduler", tests: []string{"TestMaxHold"}, says: "the context ended at",
	},
	{
		name: "scheduler: expired lease called unrecorded", promise: "A run whose lease had run out is in the ledger, and nobody is told otherwise.",
		edits: []edit{{schedulerDir + "run.go", "errors.Is(err, locking.ErrExpired) {\n\t\terr = nil", "errors.Is(err, locking.ErrExpired) {\n\t\t_ = err"}},
		pkg:   "./scheduler", tests: []string{"TestDeafWithoutLease"}, says: "finished j 10s lease_lost <nil>",
	},
}
