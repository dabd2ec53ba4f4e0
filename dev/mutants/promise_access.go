package main

const (
	quorumacts = "internal/store/quorum/acts/"
	web        = "internal/console/"
	board      = "replica/dashboard/" // with the tests of the console
)

var access = promise{
	page: "api.md",
	text: "Nobody sees or does more than their role allows, and every act is recorded and carried out as asked.",
	plants: []plant{
		{"acts: one is shown that few nodes hold", in(quorumacts, "TestConfirmed"), []edit{
			{quorumacts + "open.go", "return n >= p.quorum", "return n >= 1"},
		}},
		{"acts: a closed one is opened again", in(quorumacts, "TestActsConform"), []edit{
			{quorumacts + "reserve.lua", "kept.state ~= 'R' then", "kept.state == 'O' then"},
		}},
		{"acts: a cancel ends another run", in(engine, "TestCancel"), []edit{
			{engine + "requests.go", "if run.Tick.Entry(run.Job, \"\").ID() != act.Run {", "if false {"},
		}},
		{"acts: a trigger chooses the command", in(config, "TestParamsOfRequests"), []edit{
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
		{"web: a refused act is not recorded", in(board, "TestEveryActIsAudited"), []edit{
			{web + "gate/gate.go", `wrong != nil && kind != ""`, `wrong != nil && kind == "nosuch"`},
		}},
		{"web: the configuration shows secrets", in(config, "TestShownHasNoSecrets"), []edit{
			{config + "shown.go", "return marked.hidden(marked.text)", "return text"},
		}},
	},
}
