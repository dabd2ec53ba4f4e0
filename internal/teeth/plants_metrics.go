package main

// metricsPlants are in what the scheduler and the nodes tell observers, and in what
// metrics, traces and alerts make of it.
var metricsPlants = []plant{
	{
		name: "tell: jitter counted as delay", promise: "A run is behind by what the scheduler needed, not by its jitter.",
		edits: []edit{{"scheduler/tell.go", "a.started.Sub(a.tick.start)", "a.started.Sub(a.tick.nominal)"}},
		pkg:   scheduler, tests: []string{"TestARunIsToldStepByStep"},
	},
	{
		name: "tell: unused claim untold", promise: "A claim that came too late to begin is told as unused.",
		edits: []edit{{"scheduler/run.go", "\t\ta.cfg.Observer.Unused(a.job.Name, a.claim)\n", ""}},
		pkg:   scheduler, tests: []string{"TestUnusedClaimsAreTold"},
	},
	{
		name: "tell: validity after the extension", promise: "What a lease had left is told as of before its extension.",
		edits: []edit{{"locking/keep.go", "Left: left, Took", "Left: Left(k.lease), Took"}, {"locking/keep.go", "begun, left := time.Now(), Left(k.lease)", "begun := time.Now()"}},
		pkg:   locking, tests: []string{"TestHoldTellsOfExtensions"},
	},
	{
		name: "tell: inner middleware first", promise: "The first middleware of the scheduler is outermost.",
		edits: []edit{{"scheduler/params.go", "slices.Backward(a.cfg.Middleware)", "slices.All(a.cfg.Middleware)"}},
		pkg:   scheduler, tests: []string{"TestMiddlewareOfTheScheduler"},
	},
	{
		name: "reasons: text changed, class lost", promise: "Each reason that the scheduler gives has its class.",
		edits: []edit{{"scheduler/verdict.go", "\"split vote: competing", "\"divided: competing"}},
		pkg:   scheduler, tests: []string{"TestClassesOfRefusals"},
	},
	{
		name: "nodes: batched replies untold", promise: "Replies to calls that share a request are told.",
		edits: []edit{{"locking/redlock/nodes/round.go", "n.note(ctx, script, r)", "n.observe(ctx, r)"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestRepliesAreTold"},
	},
	{
		name: "nodes: abstaining node counted as a vote", promise: "A node that abstains does not count as one that votes.",
		edits: []edit{{"locking/redlock/nodes/standing.go", " && !vouches.After(now)", ""}, {"locking/redlock/nodes/standing.go", "n.standing(time.Now())", "n.standing()"}, {"locking/redlock/nodes/standing.go", "standing(now time.Time) Standing", "standing() Standing"}},
		pkg:   "./locking/redlock/nodes", tests: []string{"TestStandings"},
	},
}
