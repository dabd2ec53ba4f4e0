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
		pkg:   redlockPkg, tests: []string{"TestClusterSizes"}, says: "validity was used up before the claim was complete",
	},
	{
		name: "quorum: fences of others ignored", promise: "A claim takes a token above every fence that a node has named.",
		edits: []edit{{redlock + "claim.go", "token = max(token, v.fence+1)", ""}},
		pkg:   redlockPkg, tests: []string{"TestStaleTokenIsRaised"},
	},
	{
		name: "quorum: owner known by its holder", promise: "Two attempts of one replica do not free each other's locks.",
		edits: []edit{{redlock + "locker.go", "func(locking.Request) string { return rand.Text() }", "func(req locking.Request) string { return req.Holder + rand.Text()[:0] }"}},
		pkg:   redlockPkg, tests: []string{"TestOwnerIsUnique"},
	},
	{
		name: "quorum: outage called a lost race", promise: "Nodes that do not answer are never reported as somebody else's lock.",
		edits: []edit{{redlock + "verdict.go", "case failed >= blocking:", "case failed > len(votes):"}},
		pkg:   redlockPkg, tests: []string{"TestReason", "TestReasonOfAllVectors"},
	},
	{
		name: "lease: drift dropped", promise: "A lease ends on the replica before it does on any node.",
		edits: []edit{{redlock + "locker.go", "return time.Duration(float64(ttl)*o.DriftFactor) + minDrift", "return 0"}},
		pkg:   redlockPkg, tests: []string{"TestDeadline"}, says: "Deadline = ",
	},
	{
		name: "lease: failed extension moves it", promise: "Only a quorum's renewals move the deadline.",
		edits: []edit{{redlock + "lease.go", "	case ok && !s.isOver():\n\t\tdeadline", "	case ok && !s.isOver() || granted > 0:\n\t\tdeadline"}},
		pkg:   redlockPkg, tests: []string{"TestExtendWithoutQuorum"},
	},
	{
		name: "lease: issued though too late", promise: "A claim whose time is used up is not issued.",
		edits: []edit{{redlock + "claim.go", "if !locking.Expired(time.Now(), deadline) {", "if true {"}},
		pkg:   redlockPkg, tests: []string{"TestTooSlow"},
	},
	{
		name: "cleanup: failed try not voided", promise: "A tick that was accepted by some nodes and given up is free for others.",
		edits: []edit{{redlock + "claim.go", "\tt.void(ctx)\n\treturn votes, time.Time{}, t.refusal(votes, slow)", "\treturn votes, time.Time{}, t.refusal(votes, slow)"}},
		pkg:   redlockPkg, tests: []string{"TestCommitGivenUp", "TestTooSlow"},
	},
	{
		name: "nodes: deadlines not on sockets", promise: "Each call to a node ends at its deadline, whatever the node does.",
		edits: []edit{{wireDir + "options.go", "opts.DialerRetries = true, -1, 1", "opts.DialerRetries = false, -1, 1"}},
		pkg:   nodesPkg, tests: []string{"TestCallersDeadlineIsKept"},
	},
	{
		name: "nodes: a dead one is asked each time", promise: "A node that does not answer costs one timeout, not one per call.",
		edits: []edit{{wireDir + "link.go", "if h.cause == nil {\n\t\treturn nil", "if true {\n\t\treturn nil"}},
		pkg:   nodesPkg, tests: []string{"TestFrozenNodeCostsOneTimeout"},
	},
	{
		name: "nodes: one server, two votes", promise: "A server behind two of the URLs is refused.",
		edits: []edit{{nodesDir + "examine.go", "if other := seen[id]; other != nil {", "if other := seen[id]; other != nil && id == \"\" {"}},
		pkg:   nodesPkg, tests: []string{"TestJoinRefusesOneServerBehindTwoURLs"},
	},
	{
		name: "nodes: password shown in URLs", promise: "Passwords in URLs print as ***.",
		edits: []edit{{wireDir + "url.go", `":***@"`, `":" + n.password + "@"`}},
		pkg:   wirePkg, tests: []string{"TestParseURL"},
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
		name: "hold: wall clock ignored", promise: "A machine that was suspended notices that its lease has ended.",
		edits: []edit{{
			"locking/locking.go", "return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))", "return !now.Before(deadline)",
		}},
		pkg: locking, tests: []string{"TestExpired", "TestSuspended"},
	},
}
