package main

const faultsPkg = "./internal/faults"

// faultPlants are what the campaigns against real processes must see.
var faultPlants = []plant{
	{
		name: "faults: restart forgotten", promise: "A node that restarted has no say in what it may have forgotten.",
		edits: []edit{{nodesDir + "prelude.lua", "if ARGV[6] ~= '1' then since = now end", ""}},
		pkg:   faultsPkg, tests: []string{"TestTokens"},
	},
	{
		name: "faults: quorum of a minority", promise: "Whoever reaches a minority of the nodes is granted nothing.",
		edits: []edit{{nodesDir + "set.go", "return len(s.nodes)/2 + 1", "return max(1, len(s.nodes)/2)"}},
		pkg:   faultsPkg, tests: []string{"TestPartitions"},
	},
	{
		name: "faults: nodes that are down are asked", promise: "A node that does not answer costs one timeout once.",
		edits: []edit{{nodesDir + "health.go", "	if h.cause == nil {\n		return nil", "	if h.cause != nil || pause == 0 {\n		return nil"}},
		pkg:   faultsPkg, tests: []string{"TestCost"},
	},
	{
		name: "faults: extended without a quorum", promise: "An extension that too few nodes agreed to leaves the deadline where it was.",
		edits: []edit{{redlock + "lease.go", "	return s.failed(\"extending\", locking.ErrNoQuorum, votes)", "	return nil"}},
		pkg:   faultsPkg, tests: []string{"TestMatrix"},
	},
	{
		name: "faults: release unheard of", promise: "A release that too few nodes have heard of is not called one.",
		edits: []edit{{redlock + "lease.go", "			return errors.Join(s.failed(\"releasing\", locking.ErrNoQuorum, votes), ctx.Err())", "			_ = errors.Join()\n			return nil"}},
		pkg:   faultsPkg, tests: []string{"TestMatrix"},
	},
	{
		name: "faults: superseded release passes", promise: "A holder that was overtaken while it was frozen is told so.",
		edits: []edit{{redlock + "lease.go", "			s.ended = superseded\n			return s.failed(\"releasing\", locking.ErrLeaseLost, votes)", "			return nil"}},
		pkg:   faultsPkg, tests: []string{"TestHolderPauses"},
	},
}
