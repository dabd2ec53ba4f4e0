package main

var growingTokens = promise{
	page: "guarantees/tokens.md",
	text: "No two claims of a job share a token; a later claim has a larger one.",
	plants: []plant{
		{"N0: a node that lost its memory has no fence", rules, []edit{
			{scripts + "commit.lua", "math.max(kept, math.ceil(floor / 1000) * 2^20)", "kept"},
		}},
		{"N3: COMMIT accepts a smaller token", rules, []edit{
			{scripts + "commit.lua", "t <= (join and kept or largest)", "false"},
		}},
		{"N3: COMMIT accepts an equal token", rules, []edit{
			{scripts + "commit.lua", "t <= (join", "t < (join"},
		}},
		{"N3: COMMIT accepts a used attempt number", rules, []edit{
			{scripts + "commit.lua", "tonumber(attempt) <= tonumber(number)", "false"},
		}},
		{"N3: COMMIT accepts a token ahead of the clock", rules, []edit{
			{scripts + "commit.lua", "t - seconds * 2^20 > reach", "t - seconds * 2^20 > 2^20 + reach"},
		}},
		{"C1: a try ignores the fences that nodes name", in(redlock, "TestStaleTokenIsRaised"), []edit{
			{redlock + "try.go", "token = max(token, v.fence+1)", ""},
		}},
	},
}
