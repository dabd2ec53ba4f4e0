package main

const wire = "internal/store/quorum/client/"

var minority = promise{
	page: "guarantees/minority.md",
	text: "Dead, frozen or unreachable nodes cost one timeout once, while a quorum works.",
	plants: []plant{
		{"C1: a refused try waits for all nodes", in(redlock, "TestRefusalDoesNotWaitForStragglers"), []edit{
			{redlock + "round.go", "case granted+r.pending >= quorum:", "case r.pending > 0:"},
		}},
		{"nodes: a call has no deadline", in(members, "TestCallersDeadlineIsKept"), []edit{
			{wire + "server.go", "opts.DialerRetries = true, -1, 1", "opts.DialerRetries = false, -1, 1"},
		}},
		{"nodes: a dead one is asked each time", in(members, "TestFrozenNodeCostsOneTimeout"), []edit{
			{wire + "link.go", "if h.cause == nil {\n\t\treturn nil", "if true {\n\t\treturn nil"},
		}},
		{"nodes: answers reach the wrong callers", in(wire, "TestCallsShareARequest", "TestBatchOnNodes"), []edit{
			{wire + "client.go", "own, rest, err = cut(rest)", "own, _, err = cut(rest)"},
		}},
		{"health: Kubernetes restarts replicas in an outage", in(replica, "TestProbes"), []edit{
			{replica + "serving.go", `respond(w, http.StatusOK, "ok") })`, `respond(w, 200+min(300, 300*len(reasons())), "ok") })`},
		}},
	},
}
