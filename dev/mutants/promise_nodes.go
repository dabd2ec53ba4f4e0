package main

var nodeChanges = promise{
	page: "nodes.md",
	text: "No promise is broken while nodes are restarted, replaced or changed one by one.",
	plants: []plant{
		{"M1: nodes init accepts a node that served", in(members, "TestInitSeesAClaimAtTheLastMoment"), []edit{
			{members + "init.lua", "if node[4] then return", "if false then return"},
		}},
		{"M2: two changes seal one node", in(members, "TestSealsAreCompared"), []edit{
			{members + "seal.lua", "elseif target[1] ~= arg(1) then", "elseif false then"},
		}},
		{"M2: a sealed node grants claims", in(redlock, "TestChangeCutOffAnywhere"), []edit{
			{members + "members.lua", "if node[5] and", "if false and"},
		}},
		{"M2: a list is opened without seals", in(redlock, "TestChangeWithoutSeals"), []edit{
			{members + "change.go", "if err := s.closes(closed, others, append(errs, again)); err != nil {", "if err := append(errs, again)[0]; err == nil {"},
		}},
		{"M2: an opened node votes on the old list's ticks", in(redlock, "TestChangeLeavesNoTickBehind"), []edit{
			{members + "open.lua", "math.max(now, sealed)", "0"},
		}},
		{"M3: any node may be restarted", in(members, "TestCheckTellsWhichNodeMayBeRestarted"), []edit{
			{members + "check.go", "len(vouch) > quorum", "len(vouch) >= quorum"},
		}},
		{"C8: a wrong clock is not named", in(members, "TestSkews"), []edit{
			{members + "run.go", "by.Abs() > limit", "by.Abs() > 2*limit"},
		}},
		{"formats: an older node is blank", in(members, "TestOlderFormatsAreRefused"), []edit{
			{members + "prelude.lua", "if redis.call('EXISTS', KEYS[1]) == 1 then", "if false then"},
		}},
	},
}
