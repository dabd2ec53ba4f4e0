package main

var oncePerTick = promise{
	page: "guarantees/once-per-tick.md",
	text: "At most one replica runs a tick of a job.",
	plants: []plant{
		{"N0: a node that lost its memory votes on ticks", rules, []edit{
			{scripts + "commit.lua", "(tick or now) <= floor", "(tick or now) <= 0"},
		}},
		{"N0: a node does not notice its restart", in(members, "TestRestartMovesTheFloor").saying("the floor is"), []edit{
			{members + "prelude.lua", "then since = now end", "then end"},
		}},
		{"N1: a node serves another list of nodes", in(members, "TestStrangersAreRefused"), []edit{
			{members + "members.lua", "members ~= our_members", "false"},
		}},
		{"N1: a node serves a former epoch of its list", in(redlock, "TestFrozenReplicaOfAFormerList").saying("the lease of the former list was extended"), []edit{
			{members + "members.lua", "epoch ~= our_epoch", "false"},
		}},
		{"N2: LOCK takes a finished tick", rules, []edit{
			{scripts + "lock.lua", "same and string.find('ORL', state, 1, true)", "false"},
		}},
		{"N3: COMMIT does not look at the tick", rules, []edit{
			{scripts + "commit.lua", "local same = tick and", "tick = nil\nlocal same = tick and"},
		}},
		{"N3: COMMIT accepts an older tick", rules, []edit{
			{scripts + "commit.lua", "code = 'LATER'", "code = nil"},
		}},
		{"N3: COMMIT asks for the new mode only", rules, []edit{
			{scripts + "commit.lua", "c_mode == '0' and", "mode == '0' and c_mode == '0' and"},
		}},
		{"N3: COMMIT accepts a try that has ended", rules, []edit{
			{scripts + "commit.lua", "if dead then", "if false then"},
		}},
		{"N6: VOID frees a finished tick", rules, []edit{
			{scripts + "void.lua", "if state == '-' then redis", "if true then redis"},
		}},
		{"N8: FORGET forgets the last tick", rules, []edit{
			{scripts + "forget.lua", "tick = math.max(tick, tonumber(at) or 0)", ""},
		}},
		{"C1: half of the nodes are a quorum", in(redlock, "TestClusterSizes").saying("validity was used up before the claim was complete"), []edit{
			{members + "set.go", "return len(s.nodes)/2 + 1", "return max(1, len(s.nodes)/2)"},
		}},
		{"C1: one node is a quorum, on real servers", in("dev/faults", "TestPartitions").saying("without a quorum won"), []edit{
			{members + "set.go", "return len(s.nodes)/2 + 1", "return 1"},
			{redlock + "try.go", "return v.ok(), err", "_, _ = v, err\n\treturn count(c.t.first.votes, protocol.OK) > 0, nil"},
		}},
		{"C1: two tries of a replica share a value", in(redlock, "TestOwnerIsUnique"), []edit{
			{redlock + "locker.go", "func(locking.Request) string { return rand.Text() }", "func(req locking.Request) string { return req.Holder + rand.Text()[:0] }"},
		}},
		{"C7: a job with on_crash skip is run again", in(engine+"internal/job/", "TestModeOfClaims"), []edit{
			{engine + "internal/job/job.go", "if j.OnCrash == jobs.CrashRerun {", "if true {"},
		}},
		{"M1: two URLs of one server have two votes", in(members, "TestJoinRefusesOneServerBehindTwoURLs"), []edit{
			{members + "examine.go", "if other := seen[id]; other != nil {", "if other := seen[id]; other != nil && id == \"\" {"},
		}},
		{"M4: a node that evicts claims is accepted", in(members, "TestJoinRefusesEviction"), []edit{
			{members + "examine.go", `"allkeys-"`, `"nokeys-"`},
		}},
	},
}
