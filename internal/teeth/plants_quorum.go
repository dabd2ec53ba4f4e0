package main

const (
	locking = "./locking"
	holdGo  = "locking/keep.go"
	redlock = "locking/redlock/"
)

// quorumPlants are in what a replica makes of the nodes' answers, and in how it
// keeps a lease.
var quorumPlants = []plant{
	{
		name: "quorum: one node less", promise: "Two quorums share a node.",
		edits: []edit{{nodesDir + "set.go", "return len(s.nodes)/2 + 1", "return max(1, len(s.nodes)/2)"}},
		pkg:   redlockPkg, tests: []string{"TestClusterSizes"}, says: "want no quorum of nodes",
	},
	{
		name: "quorum: ballots are mixed", promise: "Only acceptances of one and the same token count together.",
		edits: []edit{{redlock + "commit.go", "a.votes[i] = vote{node: v.node}", "_ = i"}},
		pkg:   redlockPkg, tests: []string{"TestBallotsDoNotMix", "TestStaleTokenIsRaised"},
	},
	{
		name: "quorum: fences of others ignored", promise: "A claim takes a token above every fence that a node has named.",
		edits: []edit{{redlock + "ahead.go", "token = max(token, v.fence+1)", ""}},
		pkg:   redlockPkg, tests: []string{"TestStaleTokenIsRaised"},
	},
	{
		name: "quorum: fences out of reach count", promise: "A node whose clock is ahead does not stop the others.",
		edits: []edit{{redlock + "ahead.go", "known && v.fence >= reach", "known && v.fence > reach<<1"}},
		pkg:   redlockPkg, tests: []string{"TestNodeAheadStopsNobody", "TestFenceAheadIsLeftOut"},
	},
	{
		name: "quorum: fences within reach left out", promise: "A fence that the clocks allow counts, also that of one node.",
		edits: []edit{{redlock + "ahead.go", "known && v.fence >= reach", "known && v.fence >= reach-2<<20"}},
		pkg:   redlockPkg, tests: []string{"TestFenceWithinTheClocksCounts"},
	},
	{
		name: "quorum: the replica's clock is blamed", promise: "A refusal names the node whose clock is ahead.",
		edits: []edit{{redlock + "verdict.go", "\tcase a.missesAhead():\n\t\treturn locking.ErrNodeAhead\n", ""}},
		pkg:   redlockPkg, tests: []string{"TestRefusalNamesTheNodeAhead"},
	},
	{
		name: "quorum: token not from the clock", promise: "Tokens exceed those that nodes may have forgotten.",
		edits: []edit{{redlock + "commit.go", "uint64(a.cfg.Clock().UnixMilli())<<20/1000", "1"}},
		pkg:   redlockPkg, tests: []string{"TestTokensFollowTheClock"},
	},
	{
		name: "quorum: owner known by its holder", promise: "Two attempts of one replica do not free each other's locks.",
		edits: []edit{{redlock + "config.go", "func(locking.Request) string { return rand.Text() }", "func(req locking.Request) string { return req.Holder + rand.Text()[:0] }"}},
		pkg:   redlockPkg, tests: []string{"TestOwnerIsUnique"},
	},
	{
		name: "quorum: lost reply counts as no", promise: "A commit whose reply was lost is asked again.",
		edits: []edit{{redlock + "commit.go", "const commitTries = 5", "const commitTries = 1"}},
		pkg:   redlockPkg, tests: []string{"TestLostRepliesToCommit"},
	},
	{
		name: "quorum: one node's claim is final", promise: "What one node says of a claim is a hint: its owner may still give it back.",
		edits: []edit{{redlock + "verdict.go", "case a.agreed(codeClaimed):", "case count(a.votes, codeClaimed) > 0:"}},
		pkg:   redlockPkg, tests: []string{"TestReason"},
	},
	{
		name: "quorum: outage called a lost race", promise: "Nodes that do not answer are never reported as somebody else's lock.",
		edits: []edit{{redlock + "verdict.go", "case failed >= blocking:", "case failed > len(a.votes):"}},
		pkg:   redlockPkg, tests: []string{"TestReason", "TestReasonOfAllVectors"},
	},
	{
		name: "lease: extended on a later grid point", promise: "Leases are extended together, and none later than it asks for.",
		edits: []edit{{holdGo, "now.Add(k.cfg.Every).Truncate(grid)", "now.Add(k.cfg.Every + grid).Truncate(grid)"}},
		pkg:   locking, tests: []string{"TestLeasesAreExtendedTogether"}, says: "after the one before",
	},
	{
		name: "lease: each extended at its own time", promise: "Leases are extended together: a Locker may send what comes at one instant in one message.",
		edits: []edit{{holdGo, "if grid := k.cfg.Every / gridPerEvery; grid > 0 {", "if grid := time.Duration(1); grid > 0 {"}},
		pkg:   locking, tests: []string{"TestLeasesAreExtendedTogether"}, says: "instants, want at most",
	},
	{
		name: "lease: drift dropped", promise: "A lease ends on the replica before it does on any node.",
		edits: []edit{{redlock + "config.go", "return time.Duration(float64(ttl)*c.DriftFactor) + leastDrift", "return 0"}},
		pkg:   redlockPkg, tests: []string{"TestDeadline"}, says: "Deadline = ",
	},
	{
		name: "lease: counted from the reply", promise: "A lease is counted from before its request was sent, however slow the reply.",
		edits: []edit{{redlock + "vote.go", "sent = append(sent, v.sent)", "sent = append(sent, v.received)"}},
		pkg:   redlockPkg, tests: []string{"TestCountedFrom"},
	},
	{
		name: "lease: counted from the last node", promise: "A lease lasts as long as a quorum keeps it, not one node.",
		edits: []edit{{redlock + "vote.go", "return sent[q-1]", "return sent[0]"}},
		pkg:   redlockPkg, tests: []string{"TestCountedFrom"},
	},
	{
		name: "lease: failed extension moves it", promise: "Only a quorum's renewals move the deadline.",
		edits: []edit{{redlock + "lease.go", "case ok && (unbroken || !s.isOver()):\n\t\tdeadline", "case ok && unbroken || accepted(votes) > 0:\n\t\tvotes = s.a.votes\n\t\tdeadline"}},
		pkg:   redlockPkg, tests: []string{"TestExtendWithoutQuorum"},
	},
	{
		name: "lease: released once, in vain", promise: "A release goes on until a quorum knows.",
		edits: []edit{{redlock + "lease.go", "if !pause(ctx, min(wait, time.Until(s.Deadline()))) {", "{"}},
		pkg:   redlockPkg, tests: []string{"TestReleaseIsRepeated"},
	},
	{
		name: "lease: issued though too late", promise: "A claim whose time is used up is not issued.",
		edits: []edit{
			{redlock + "commit.go", "if ctx.Err() != nil || locking.Expired(time.Now(), valid) {", "if ctx.Err() != nil {"},
			{redlock + "commit.go", "if locking.Expired(now, valid) || locking.Expired(now, deadline) {", "if locking.Expired(now, deadline) {"},
		},
		pkg: redlockPkg, tests: []string{"TestTooSlow"},
	},
	{
		name: "cleanup: with the caller's context", promise: "An attempt that is cancelled leaves no locks behind.",
		edits: []edit{
			{redlock + "attempt.go", "ctx = context.WithoutCancel(ctx)\n\treturn", "return"},
			{redlock + "attempt.go", "ctx = context.WithoutCancel(ctx)\n\tvotes", "votes"},
		},
		pkg: redlockPkg, tests: []string{"TestCancelledContextLeavesNothing"},
	},
	{
		name: "cleanup: not for frozen nodes", promise: "What a node that was frozen still does is taken back.",
		edits: []edit{{redlock + "cleaner.go", "if !a.anyLeft() {", "if a.anyLeft() {"}},
		pkg:   redlockPkg, tests: []string{"TestThawedNodeIsCleanedUp"},
	},
	{
		name: "cleanup: failed attempt not voided", promise: "A tick that was accepted by some nodes and given up is free for others.",
		edits: []edit{
			{redlock + "locker.go", "a.void(ctx)", ""},
			{redlock + "locker.go", "defer l.cleaner.cleanUp(a, a.voidAt)", ""},
		},
		pkg: redlockPkg, tests: []string{"TestCommitGivenUp", "TestTooSlow"},
	},
	{
		name: "nodes: deadlines not on sockets", promise: "Each call to a node ends at its deadline, whatever the node does.",
		edits: []edit{{nodesDir + "client.go", "ContextTimeoutEnabled: true", "ContextTimeoutEnabled: false"}},
		pkg:   nodesPkg, tests: []string{"TestCallersDeadlineIsKept"},
	},
	{
		name: "nodes: a dead one is asked each time", promise: "A node that does not answer costs one timeout, not one per call.",
		edits: []edit{{nodesDir + "health.go", "if h.cause == nil {\n\t\treturn nil", "if true {\n\t\treturn nil"}},
		pkg:   nodesPkg, tests: []string{"TestFrozenNodeCostsOneTimeout"},
	},
	{
		name: "nodes: blank ones formatted at once", promise: "Blank nodes are formatted only where they cannot be the remains of another list.",
		edits: []edit{{nodesDir + "join.go", "return t.ours >= s.Quorum() || t.ours+t.blank == s.Len()", "return true"}},
		pkg:   nodesPkg, tests: []string{"TestBlankNodesAreFormattedOnlyWhenSafe"},
	},
	{
		name: "nodes: one server, two votes", promise: "A server behind two of the URLs is refused.",
		edits: []edit{{nodesDir + "examine.go", "if other := seen[id]; other != nil {", "if other := seen[id]; other != nil && id == \"\" {"}},
		pkg:   nodesPkg, tests: []string{"TestJoinRefusesOneServerBehindTwoURLs"},
	},
	{
		name: "nodes: allkeys eviction accepted", promise: "A server that may evict claims is refused.",
		edits: []edit{{nodesDir + "examine.go", `case strings.HasPrefix(v.info.eviction(), "allkeys-"):`, "case false:"}},
		pkg:   nodesPkg, tests: []string{"TestJoinRefusesEviction"},
	},
	{
		name: "nodes: password shown in URLs", promise: "Passwords in URLs print as ***.",
		edits: []edit{{nodesDir + "url.go", `":***@"`, `":" + n.password + "@"`}},
		pkg:   nodesPkg, tests: []string{"TestPasswordsNeverShow", "TestParseURL"},
	},
	{
		name: "hold: margin ignored", promise: "The context of work ends one margin before the lease does.",
		edits: []edit{{holdGo, "now, end := time.Now(), deadline.Add(-k.cfg.Margin)", "now, end := time.Now(), deadline"}},
		pkg:   locking, tests: []string{"TestHoldEndsWorkBeforeTheLease"},
	},
	{
		name: "hold: no local deadline", promise: "Work ends by a local timer, never by waiting for an extension to fail.",
		edits: []edit{{holdGo, "return min(end.Sub(now), watchInterval)", "return time.Hour"}},
		pkg:   locking, tests: []string{"TestHoldEndsWorkBeforeTheLease"},
	},
	{
		name: "hold: lost lease ignored", promise: "Work ends at once when an extension says that the lease is lost.",
		edits: []edit{{holdGo, "if errors.Is(err, ErrLeaseLost) {", "if err == nil && errors.Is(err, ErrLeaseLost) {"}},
		pkg:   locking, tests: []string{"TestHoldEndsWorkBeforeTheLease"},
	},
	{
		name: "hold: first failure ends extending", promise: "An extension that fails is tried again as long as the lease lasts.",
		edits: []edit{{holdGo, "if errors.Is(err, ErrLeaseLost) {", "if err != nil || errors.Is(err, ErrLeaseLost) {"}},
		pkg:   locking, tests: []string{"TestHoldEndsWorkBeforeTheLease"},
	},
	{
		name: "hold: late claims are extended late", promise: "A claim that slow nodes delayed is extended in time.",
		edits: []edit{{holdGo, "cfg.TTL > 0 && since", "cfg.TTL < 0 && since"}},
		pkg:   locking, tests: []string{"TestKeepCountsFromTheLease"},
	},
	{
		name: "hold: extensions unbounded", promise: "An extension that hangs does not keep the next one from being tried.",
		edits: []edit{{holdGo, "ctx, cancel := context.WithTimeout(ctx, try)", "ctx, cancel := context.WithTimeout(ctx, 1000*try)"}},
		pkg:   locking, tests: []string{"TestHoldBoundsOneExtension"},
	},
	{
		name: "hold: extending ends with the caller", promise: "Work that ignores its context stays protected until it returns.",
		edits: []edit{{holdGo, "k.keep(context.WithoutCancel(ctx), term)", "k.keep(ctx, term)"}},
		pkg:   locking, tests: []string{"TestHoldKeepsExtendingForDeafWork"},
	},
	{
		name: "hold: wall clock ignored", promise: "A machine that was suspended notices that its lease has ended.",
		edits: []edit{{
			"locking/locking.go", "return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))", "return !now.Before(deadline)",
		}},
		pkg: locking, tests: []string{"TestExpired", "TestSuspended"},
	},
}
