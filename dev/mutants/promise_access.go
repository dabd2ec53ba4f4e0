package main

const (
	quorumcommands = "internal/store/quorum/commands/"
	web            = "internal/console/"
	board          = "replica/dashboard/" // with the tests of the console
)

var access = promise{
	page: "api.md",
	text: "Nobody sees or does more than their role allows, and every command is recorded and carried out as asked.",
	plants: []plant{
		{"commands: one is shown that few nodes hold", in(quorumcommands, "TestConfirmed"), []edit{
			{quorumcommands + "open.go", "return n >= p.quorum", "return n >= 1"},
		}},
		{"commands: a closed one is opened again", in(quorumcommands, "TestCommandsConform"), []edit{
			{quorumcommands + "reserve.lua", "kept.state ~= 'R' then", "kept.state == 'O' then"},
		}},
		{"commands: a cancel ends another run", in(engine, "TestCancel"), []edit{
			{engine + "requests.go", "if run.Tick.Entry(run.Job, \"\").ID() != command.Run {", "if false {"},
		}},
		{"commands: a trigger chooses the command", in(config, "TestParamsOfRequests"), []edit{
			{config + "jobs.go", "if slices.Contains(fixedParams, job.Func) {", "if false {"},
		}},
		{"web: every role may act", in(board, "TestRoles"), []edit{
			{"scheduler/identity/identity.go", ">= slices.Index(Roles(), needed)", ">= 0"},
		}},
		{"web: localhost may act", in(board, "TestNobodyActsFromLocalhost"), []edit{
			{web + "gate/login.go", "id.Role = identity.Viewer\n", "id.Role = identity.Admin\n"},
		}},
		{"web: a page of another origin may act", in(board, "TestOtherOrigins"), []edit{
			{web + "gate/gate.go", "err := g.origins.Check(r); err != nil", "err := g.origins.Check(r); err != nil && false"},
		}},
		{"web: a refused command is not recorded", in(board, "TestEveryCommandIsAudited"), []edit{
			{web + "gate/gate.go", `wrong != nil && kind != ""`, `wrong != nil && kind == "nosuch"`},
		}},
		{"web: the configuration shows secrets", in(config, "TestShownHasNoSecrets"), []edit{
			{"internal/refs/hide.go", "return marked.hidden(marked.text)", "return text"},
		}},
	},
}
