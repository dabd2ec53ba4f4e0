package main

const (
	forgetLua = "locking/redlock/forget.lua"
	evictLua  = "locking/redlock/evict.lua"

	redlockDir = "locking/redlock/"
)

// opsPlants are in what operators ask for and see: who holds what, forced
// release, FORGET.
var opsPlants = []plant{
	{
		name: "forget: token not remembered", promise: "Tokens go on growing after a job was forgotten.",
		edits: []edit{{forgetLua, "fence = math.max(fence, value)", "fence = gc_fence"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: tick not remembered", promise: "A tick of a forgotten job never runs again.",
		edits: []edit{{forgetLua, "tick = math.max(tick, value)", "tick = gc_tick"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: marks fall", promise: "Forgetting one job does not open what another has closed.",
		edits: []edit{{forgetLua, "local fence, tick = gc_fence, gc_tick", "local fence, tick = 0, 0"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: while the lock is held", promise: "A job is not forgotten while it runs.",
		edits: []edit{{forgetLua, "if redis.call('EXISTS', lock) == 1 or", "if"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: keeps the records", promise: "A forgotten job leaves nothing behind.",
		edits: []edit{{forgetLua, "redis.call('DEL', claim, runs, notes, logs, shares)", "redis.call('DEL', claim)"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: logs alone are nothing", promise: "A forgotten job leaves nothing behind, on no node.",
		edits: []edit{{forgetLua, "redis.call('EXISTS', claim, runs, notes, logs)", "redis.call('EXISTS', claim, runs)"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forgotten fence does not count", promise: "An absent claim stands at the largest token that was forgotten.",
		edits: []edit{{standingLua, "tonumber(stored_fence) or gc_fence", "tonumber(stored_fence) or 0"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forgotten ticks are open", promise: "An absent claim stands at the latest tick that was forgotten.",
		edits: []edit{{voteLua, "return tick <= gc_tick", "return false"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "the last forgotten tick is open", promise: "The very tick that a forgotten job ran last is closed, too.",
		edits: []edit{{voteLua, "return tick <= gc_tick", "return tick < gc_tick"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "forget: one node is enough", promise: "Forgetting is done when a quorum has done it.",
		edits: []edit{{redlockDir + "holders.go", "if len(good) >= set.Quorum() {", "if len(good) > 0 {"}},
		pkg:   redlockPkg, tests: []string{"TestForgetAtAQuorum", "TestHoldersWithoutSome", "TestEvictWithoutSome"},
	},
	{
		name: "evict: without a tombstone", promise: "Whose lock was released by force does not get it back by extending.",
		edits: []edit{{evictLua, "redis.call('SET', KEYS[3], arg(2), 'PX', num(2 * gracems))", ""}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "evict: tombstone of one pause", promise: "The tombstone of a forced release outlasts any pause between extensions.",
		edits: []edit{{evictLua, "num(2 * gracems)", "'5000'"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "evict: frees anybody's lock", promise: "A forced release frees the lock of the holder it names and no other.",
		edits: []edit{{evictLua, "if redis.call('GET', KEYS[2]) == arg(1) then", "if true then"}},
		pkg:   redlockPkg, tests: rules,
	},
	{
		name: "evict: only what is seen on a quorum", promise: "A holder is evicted also when some of its nodes do not answer.",
		edits: []edit{{redlockDir + "holding.go", "h.On.For+h.open+h.silent >= h.quorum()", "h.On.For+h.open >= h.quorum()"}},
		pkg:   redlockPkg, tests: []string{"TestMayHold", "TestEvictWithoutSome"},
	},
	{
		name: "evict: why is not in the ledger", promise: "The run of a lock released by force carries the operator's reason.",
		edits: []edit{{"scheduler/outcome.go", `Details: &Details{Text: evicted.Reason}`, `Details: &Details{Text: evicted.Reason[:0]}`}},
		pkg:   "./scheduler", tests: []string{"TestOutcome"},
	},
	{
		name: "locks: the longest time left", promise: "The time left of a lock is what a quorum agrees on.",
		edits: []edit{{redlockDir + "holders_merge.go", "return lefts[q-1]", "return lefts[0]"}},
		pkg:   redlockPkg, tests: []string{"TestPicture"},
	},
	{
		name: "locks: finished claims are listed", promise: "One node that knows a claim as finished is enough.",
		edits: []edit{{redlockDir + "holders_merge.go", "c.done || d.done", "c.done"}},
		pkg:   redlockPkg, tests: []string{"TestPicture"},
	},
	{
		name: "locks: first page only", promise: "All locks are listed, however many there are.",
		edits: []edit{{redlockDir + "holders.go", `cursor == "0" || cursor == ""`, "true"}},
		pkg:   redlockPkg, tests: []string{"TestHoldersOfMany"},
	},
	{
		name: "locks: not on sealed nodes", promise: "Who holds what can be seen while the list of nodes is changed.",
		edits: []edit{{redlockDir + "scripts.go", `NewScript("holding", holdingLua, sharesLua).AcceptSealed()`, `NewScript("holding", holdingLua, sharesLua)`}},
		pkg:   redlockPkg, tests: []string{"TestHoldersOnSealedNodes"},
	},
	{
		name: "jobs forget: served jobs", promise: "A job that a live replica serves is not forgotten.",
		edits: []edit{{"cmd/jobs_forget.go", `by != ""`, `by == "nobody"`}},
		pkg:   "./cmd", tests: []string{"TestForgetPublishedOnly"},
	},
	{
		name: "forget: while a version is served", promise: "A job is not forgotten while a replica serves any version of it.",
		edits: []edit{{schedulerDir + "forget.go", "cmp.Compare(a.Age, b.Age)", "cmp.Compare(b.Age, a.Age)"}},
		pkg:   scheduler, tests: []string{"TestAbandoned"},
	},
	{
		name: "forget: what this replica serves", promise: "A replica does not forget what it serves, even if it could not say so.",
		edits: []edit{{schedulerDir + "forget.go", "&& !f.serves(key)", "&& (true || f.serves(key))"}},
		pkg:   scheduler, tests: []string{"TestAbandoned"},
	},
	{
		name: "forget: what a set of jobs says", promise: "A job is not forgotten while a live replica says that it serves its set of jobs.",
		edits: []edit{{schedulerDir + "roster.go", "i := j.servedIn(live); i >= 0", "i := j.servedIn(nil); i >= 0"}},
		pkg:   scheduler, tests: []string{"TestAbandoned", "TestServedBy"},
	},
	{
		name: "forget: before others have published", promise: "Nothing is forgotten while a replica may not have published its jobs.",
		edits: []edit{{schedulerDir + "forget.go", "if now.Sub(r.Started) < settling {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestForgetTurns"},
	},
	{
		name: "forget: by everybody", promise: "One replica forgets a job, and the log says so once.",
		edits: []edit{{schedulerDir + "forget.go", "f.cfg.Replica, ids) == 0", "f.cfg.Replica, ids) >= 0"}},
		pkg:   scheduler, tests: []string{"TestForgetTurns"},
	},
	{
		name: "forget: off the list first", promise: "A job that could not be forgotten is tried again.",
		edits: []edit{{schedulerDir + "forget.go", "; err != nil {\n\t\treturn err\n\t}\n\treturn f.cfg.Roster", "; err != nil && false {\n\t\treturn err\n\t}\n\treturn f.cfg.Roster"}},
		pkg:   scheduler, tests: []string{"TestForgetLook"},
	},
	{
		name: "forget: not wired", promise: "What the nodes keep of a job that was removed goes.",
		edits: []edit{{replicaDir + "cluster.go", "err := c.Forget(ctx, key); !errors.Is", "err := error(nil); !errors.Is"}},
		pkg:   replica, tests: []string{"TestRemovedJobIsForgotten"},
	},
	{
		name: "forget: slots stay", promise: "With a job go the slots of its backfills.",
		edits: []edit{{replicaDir + "cluster.go", "if err := c.forgetSlots(ctx, key); err != nil {", "if err := error(nil); err != nil {"}},
		pkg:   replica, tests: []string{"TestRemovedJobIsForgotten"},
	},
	{
		name: "jobs forget: restarts do not help", promise: "A job that was removed can be forgotten once the replicas were restarted.",
		edits: []edit{{"scheduler/roster.go", "case r.Started.After(j.Published):", "case false:"}},
		pkg:   "./scheduler", tests: []string{"TestServedBy"},
	},
}
