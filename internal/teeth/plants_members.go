package main

// memberPlants are in how the list of nodes is changed, and how nodes are judged.
var memberPlants = []plant{
	{
		name: "members: seal not compared", promise: "Two changes of the list do not both get a quorum of seals.",
		edits: []edit{{nodesDir + "seal.lua", "elseif target[1] ~= arg(1) then", "elseif false then"}},
		pkg:   nodesPkg, tests: []string{"TestSealsAreCompared"},
	},
	{
		name: "members: sealed node grants claims", promise: "What is sealed for a change of the list grants nothing any more.",
		edits: []edit{{nodesDir + "members.lua", "if node[5] and not string.find(ARGV[3], 's', 1, true) then", "if false then"}},
		pkg:   redlockPkg, tests: []string{"TestChangeCutOffAnywhere"},
	},
	{
		name: "members: open without seals", promise: "No new list is opened while the old one may still grant claims.",
		edits: []edit{{nodesDir + "survey.go", "if err := s.closes(closed, others, append(errs, again)); err != nil {", "if err := append(errs, again)[0]; err == nil {"}},
		pkg:   redlockPkg, tests: []string{"TestChangeWithoutSeals"},
	},
	{
		name: "members: OPEN raises no since", promise: "A new list has no say in what the old one may have granted.",
		edits: []edit{{nodesDir + "open.lua", "local since = math.max(now, sealed)", "local since = 0"}},
		pkg:   redlockPkg, tests: []string{"TestChangeLeavesNoTickBehind"},
	},
}
