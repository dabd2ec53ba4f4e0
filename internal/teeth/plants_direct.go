package main

// directPlants are in claims of one round, and in looks at what became of a tick.
var directPlants = []plant{
	{
		name: "direct: always in one round", promise: "Whoever does not ask for it has two rounds, in which competitors divide the votes seldom.",
		edits: []edit{{redlock + "attempt.go", "return a.req.Direct && !a.req.Tick.IsZero()", "return !a.req.Tick.IsZero()"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaim"}, says: "a claim in two rounds costs",
	},
	{
		name: "direct: never in one round", promise: "A direct claim is one call to each of a quorum.",
		edits: []edit{{redlock + "attempt.go", "return a.req.Direct && !a.req.Tick.IsZero()", "return false"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaim"}, says: "a claim in one round costs",
	},
	{
		name: "direct: ballots are mixed", promise: "Only acceptances of one and the same token count together, in one round too.",
		edits: []edit{{redlock + "commit.go", "a.votes[i] = vote{node: v.node}", "if !a.direct() || !v.ok() {\n\t\t\ta.votes[i] = vote{node: v.node}\n\t\t}"}},
		pkg:   redlockPkg, tests: []string{"TestStaleTokenIsRaised"},
	},
	{
		name: "direct: token of the whole second", promise: "The first token of a direct claim is above that of an earlier tick of the same second.",
		edits: []edit{{redlock + "commit.go", "uint64(a.cfg.Clock().UnixMilli())<<20/1000", "uint64(a.cfg.Clock().Unix())<<20"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaim"}, says: "a claim in one round costs",
	},
	{
		name: "direct: nothing is given back", promise: "A direct claim that fails takes back what some nodes accepted.",
		edits: []edit{{redlock + "commit.go", "func(node int) bool { return a.left[node] }", "func(int) bool { return false }"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaimsThatMeet"},
	},
	{
		name: "direct: given back everywhere", promise: "A direct claim that is refused everywhere leaves nothing to give back.",
		edits: []edit{{redlock + "commit.go", "func(node int) bool { return a.left[node] }", "func(int) bool { return true }"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaim"}, says: "a claim that is refused everywhere costs",
	},
	{
		name: "direct: the lock is told before the tick", promise: "A direct claim hears that its tick is closed, not only that the lock is held.",
		edits: []edit{{commitLua, "local no = closed(mode, mine)\n", "if in_the_way() then return in_the_way_of('LOST') end\nlocal no = closed(mode, mine)\n"}},
		pkg:   redlockPkg, tests: rules, says: `want "CLAIMED a:5@20"`,
	},

	{
		name: "spared: joining is a renewal", promise: "That a node accepts a claim once more does not extend its lease.",
		edits: []edit{{redlock + "lease.go", "if v := a.joinAt(ctx, node); !v.ok() {\n\t\t\treturn v\n\t\t}", "return a.joinAt(ctx, node)"}},
		pkg:   redlockPkg, tests: []string{"TestJoiningIsNoRenewal"},
	},
	{
		name: "spared: never asked again", promise: "A lease on a bare quorum outlives a minority of nodes: when it is extended it is on all.",
		edits: []edit{{redlock + "lease.go", "if a.spares(node) {", "if a.spares(node) {\n\t\treturn vote{}\n\t}\n\tif a.spares(node) {"}},
		pkg:   redlockPkg, tests: []string{"TestBareQuorumOutlivesAMinority", "TestExtensionAsksAllNodes"},
	},
	{
		name: "spared: no help at the finish", promise: "A run whose nodes went away is finished at the others.",
		edits: []edit{{redlock + "lease.go", "if s.a.spared != nil {", "if false {"}},
		pkg:   redlockPkg, tests: []string{"TestBareQuorumOutlivesAMinority"},
	},
	{
		name: "spared: everybody leads", promise: "Of two claims in one round that meet, one goes on.",
		edits: []edit{{redlock + "order.go", "return got > met || got == met && first", "return true"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaimsThatMeet"},
	},
	{
		name: "spared: nobody leads", promise: "Of two claims in one round that meet, one goes on.",
		edits: []edit{{redlock + "order.go", "return got > met || got == met && first", "return false"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaimsThatMeet"},
	},
	{
		name: "spared: nodes that are down come first", promise: "A claim in one round asks nodes that vote.",
		edits: []edit{{redlock + "order.go", "if list[node].Votes(now) {", "if !now.IsZero() {"}},
		pkg:   redlockPkg, tests: []string{"TestOrderBeginsWithWhoVotes"},
	},
	{
		name: "look: none stands in", promise: "Looks go on to the nodes that stand in for those without a say.",
		edits: []edit{{redlock + "watch.go", "w.order[w.next] = others[0]\n\t\tcopy(others, others[1:])\n\t\tothers[len(others)-1] = node", "_ = others"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes", "TestLookPastNodesWithoutASay"},
	},
	{
		name: "look: one node's claim is final", promise: "What one node says of a claim is a hint to whoever looks, too.",
		edits: []edit{{redlock + "watch.go", "v.code == codeClaimed && agreed(w.seen, codeClaimed, w.set.Quorum()):", "v.code == codeClaimed:"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes"},
	},
	{
		name: "look: a node counts twice", promise: "A quorum of different nodes must have named the claim.",
		edits: []edit{{redlock + "watch.go", "w.seen[node] = v\n", "w.seen = append(w.seen, v)\n"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes"}, says: "[taken taken claimed",
	},
	{
		name: "look: two claims count together", promise: "A quorum must have named one owner and token.",
		edits: []edit{{redlock + "verdict.go", "w.code == code && w.owner == v.owner && w.token == v.token", "w.code == code && v.code == code"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes"},
	},
	{
		name: "look: a void claim stands", promise: "A claim that was given back is no obstacle.",
		edits: []edit{{redlock + "look.lua", "return obstacle(arg(6))", "recall()\nif same_tick() and stored_done ~= '1' then return with_claim('CLAIMED', stream) end\nreturn obstacle(arg(6))"}},
		pkg:   redlockPkg, tests: []string{"TestRulesOnMiniredis", "TestConformanceOnMiniredis"},
	},
	{
		name: "look: takes the lock", promise: "A look changes nothing.",
		edits: []edit{{redlock + "look.lua", "return obstacle(arg(6))", "if not obstacle(arg(6)) then take() end\nreturn obstacle(arg(6))"}},
		pkg:   redlockPkg, tests: []string{"TestRulesOnMiniredis"},
	},
	{
		name: "look: always the same node", promise: "Each look asks the next node, so that a quorum is heard in the end.",
		edits: []edit{{redlock + "watch.go", "w.next++\n\t\t\tbreak", "break"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes"},
	},
	{
		name: "look: all begin at one node", promise: "Watchers begin at different nodes.",
		edits: []edit{{redlock + "watch.go", "int(start % uint64(n))", "int(start % 1)"}},
		pkg:   redlockPkg, tests: []string{"TestLookAsksOneNode"},
	},
	{
		name: "look: stops at nodes without a say", promise: "A node that is down, refuses or abstains is passed over.",
		edits: []edit{{redlock + "watch.go", "if !v.mute() {", "if true {"}},
		pkg:   redlockPkg, tests: []string{"TestLookConcludes", "TestLookPastNodesWithoutASay"},
	},
}
