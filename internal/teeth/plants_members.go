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
		edits: []edit{{nodesDir + "members.lua", "if node[9] and ARGV[8] ~= '1' then", "if false then"}},
		pkg:   redlockPkg, tests: []string{"TestChangeCutOffAnywhere"},
	},
	{
		name: "members: open without seals", promise: "No new list is opened while the old one may still grant claims.",
		edits: []edit{{nodesDir + "seal.go", "if closed < s.old.Quorum() && !s.proven {", "if false {"}},
		pkg:   redlockPkg, tests: []string{"TestChangeWithoutSeals"},
	},
	{
		name: "members: OPEN raises no since", promise: "A new list has no say in what the old one may have granted.",
		edits: []edit{{nodesDir + "open.lua", "local since = math.max(now, sealed)", "local since = 0"}},
		pkg:   redlockPkg, tests: []string{"TestChangeLeavesNoTickBehind"},
	},
	{
		name: "members: OPEN without old clocks", promise: "The clocks of new nodes cost votes, never a tick that runs twice.",
		edits: []edit{{nodesDir + "open.lua", "local since = math.max(now, sealed)", "local since = now"}},
		pkg:   nodesPkg, tests: []string{"TestBlankNodesOfAChangedList"},
	},
	{
		name: "members: FORMAT without old clocks", promise: "Nodes that join a changed list later wait as long as the others.",
		edits: []edit{{nodesDir + "format.lua", "and math.max(now, sealed) or 0", "and now or 0"}},
		pkg:   nodesPkg, tests: []string{"TestBlankNodesOfAChangedList"},
	},
	{
		name: "members: epoch not checked", promise: "A list that was left and taken up again does not serve replicas of its former time.",
		edits: []edit{{nodesDir + "members.lua", "if node[4] ~= ARGV[3] then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestStrangersAreRefused", "TestFormerEpochIsRefused"},
	},
	{
		name: "members: epoch not learned", promise: "Replicas of a changed list know its epoch.",
		edits: []edit{{nodesDir + "epoch.go", "		e.epoch, e.fixed = epoch, agreed\n", "		_, e.fixed = epoch, agreed\n"}},
		pkg:   nodesPkg, tests: []string{"TestChangeOfTheList"},
	},
	{
		name: "members: open list declared new", promise: "Nobody can declare the nodes of a changed list as new.",
		edits: []edit{{nodesDir + "open.lua", "  'served', '1', 'sealed_at'", "  'sealed_at'"}},
		pkg:   nodesPkg, tests: []string{"TestChangeOfTheList"},
	},
	{
		name: "members: another list taken over", promise: "A node that serves another list is not taken into this one.",
		edits: []edit{{nodesDir + "survey.go", "errs = append(errs, v.judgeServer(), s.unfit(v))", "errs = append(errs, v.judgeServer())"}},
		pkg:   nodesPkg, tests: []string{"TestChangeIsRefusedBeforeItBegins"},
	},
	{
		name: "members: one left behind stops all", promise: "A node that missed a change of the list costs its own vote only.",
		edits: []edit{{nodesDir + "join.go", "if count(views).ours < s.Quorum() {", "if true {"}},
		pkg:   nodesPkg, tests: []string{"TestNodeThatMissedTheChange"},
	},
	{
		name: "members: restart at quorum", promise: "The next node is restarted only where a quorum vouches without it.",
		edits: []edit{{nodesDir + "check.go", "if len(vouch) > quorum {", "if len(vouch) >= quorum {"}},
		pkg:   nodesPkg, tests: []string{"TestCheckTellsWhichNodeMayBeRestarted"},
	},
	{
		name: "members: durable taken at its word", promise: "An operator who says durable without appendfsync always is told.",
		edits: []edit{{nodesDir + "durability.go", `if s.cfg.Durable && n.Fsync != "always" {`, "if false {"}},
		pkg:   nodesPkg, tests: []string{"TestCheckJudgesSettings"},
	},
	{
		name: "members: eviction of claims allowed", promise: "Nodes that evict claims are refused, with the setting's name.",
		edits: []edit{{nodesDir + "examine.go", `case strings.HasPrefix(v.info.eviction(), "allkeys-"):`, "case false:"}},
		pkg:   nodesPkg, tests: []string{"TestJoinRefusesEviction"},
	},
	{
		name: "members: another server not noticed", promise: "A node that was failed over or restored from a dump vouches for nothing that it may have forgotten.",
		edits: []edit{{nodesDir + "prelude.lua", "if ARGV[6] ~= '1' then since = now end", ""}},
		pkg:   redlockPkg, tests: []string{"TestNodeRestoredFromAnOldDump", "TestFailedOverNode"},
	},
}
