package main

var guards = promise{
	page: "guarantees/guards.md",
	text: "A sink behind a guard accepts no write from a run once a newer run has written.",
	plants: []plant{
		{"guard: memory admits a smaller token", in(fence, "TestMemory"), []edit{
			{fence + "fence.go", "seen > token {", "seen > token+1 {"},
		}},
		{"guard: redisfence admits a smaller token", in(fence+"redisfence", "TestConformance"), []edit{
			{fence + "redisfence/guard.lua", "if seen > token then", "if seen > token + 1 then"},
		}},
		{"guard: sqlfence lowers a token", in("dev/integration", "TestSQLGuards"), []edit{
			{fence + "sqlfence/dialect.go", " WHERE f.token <= EXCLUDED.token", ""},
		}},
		{"guard: httpfence admits requests side by side", in(fence+"httpfence", "TestConformance"), []edit{
			{fence + "httpfence/middleware.go", "m.gate.Do(", "fence.NewGate(m.Guard).Do("},
		}},
		{"guard: a refusal is not recorded", in(engine, "TestStaleWritesAreAccountedFor", "TestFrozenHolderIsRefused"), []edit{
			{engine + "internal/attempt/call.go", "fence.WithObserver(ctx, c.refuse)", "fence.WithObserver(ctx, func(*fence.StaleError) {})"},
		}},
		{"retry: a refused run is tried again", in(engine+"internal/job/", "TestRetryAllows"), []edit{
			{engine + "internal/job/job.go", "errors.Is(err, fence.ErrStale)", "errors.Is(err, fence.ErrStale) && false"},
		}},
		{"http: the token follows a redirect", in("jobs/httpjob", "TestRedirectsAreNotFollowed"), []edit{
			{"jobs/httpjob/httpjob.go", "func(*http.Request, []*http.Request) error {", "func(_ *http.Request, via []*http.Request) error {\n\tif len(via) < 3 {\n\t\treturn nil\n\t}\n"},
		}},
	},
}
