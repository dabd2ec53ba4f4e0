package main

const campaigns = "dev/integration/failover"

var oneRedis = promise{
	page: "redis.md",
	text: "On one Redis whose place another server takes no tick runs twice.",
	plants: []plant{
		{"one Redis: the run_id alone is the incarnation", in("internal/store/quorum/membership", "TestPromotedServerAbstains"), []edit{
			{"internal/store/quorum/membership/prelude.lua", " or repl_id and repl_id ~= node[8]", ""},
		}},
		{"C9: COMMIT needs no copies", in("locking/redlock", "TestClaimNeedsItsCopies"), []edit{
			{"internal/store/quorum/scripts/scripts.go", `lua("commit")+lua("refuse"), TrimLua).Copied()`, `lua("commit")+lua("refuse"), TrimLua)`},
		}},
		{"C9: EXTEND needs no copies", in("locking/redlock", "TestExtensionNeedsItsCopies"), []edit{
			{"internal/store/quorum/scripts/scripts.go", `lua("extend")+lua("refuse")).Copied()`, `lua("extend")+lua("refuse"))`},
		}},
		{"C9: nothing needs copies, while Sentinels promote", in(campaigns, "TestCampaignSentinel").saying("ran twice"), []edit{
			{"internal/store/quorum/client/server.go", "if s.copied {", "if false {"},
		}},
		{"Sentinels: Close waits for a dial that needs it", in("internal/store/quorum/client", "TestCloseDuringTheSearchForTheMaster").saying("waits for a search"), []edit{
			{"internal/store/quorum/client/server.go", "w.closed = true\n\tw.mu.Unlock()", "w.closed = true\n\tdefer w.mu.Unlock()"},
		}},
		{"one Redis: no grace after a failover", in("internal/store/quorum/membership", "TestPromotedServerAbstains"), []edit{
			{"internal/store/quorum/membership/prelude.lua", "then since = now end", "then since = since end"},
		}},
		{"one Redis: no grace after a failover, in Behind", in(campaigns, "TestCampaignBehind").saying("ran twice"), []edit{
			{"internal/store/quorum/membership/prelude.lua", "then since = now end", "then since = since end"},
		}},
	},
}
