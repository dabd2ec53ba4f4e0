package main

const faultsPkg = "./internal/faults"

// oneNodeDecides takes away both majorities: ours, and that of redsync.
var oneNodeDecides = []edit{
	{nodesDir + "set.go", "return len(s.nodes)/2 + 1", "return 1"},
	{redlock + "pool.go", "\tv, err := c.t.first.vote(c.ctx, c.node)\n\treturn v.ok(), err", "\t_, _ = c.t.first.vote(c.ctx, c.node)\n\treturn count(c.t.first.votes, codeOK) > 0, nil"},
}

// faultPlants are what the campaigns against real processes must see.
var faultPlants = []plant{
	{
		name: "faults: restart forgotten", promise: "A node that restarted has no say in what it may have forgotten.",
		edits: []edit{{nodesDir + "prelude.lua", "if not string.find(ARGV[3], 'd', 1, true) then since = now end", ""}},
		pkg:   faultsPkg, tests: []string{"TestTokens"},
	},
	{
		name: "faults: quorum of a minority", promise: "Whoever reaches a minority of the nodes is granted nothing.",
		edits: oneNodeDecides,
		pkg:   faultsPkg, tests: []string{"TestPartitions"},
	},
}
