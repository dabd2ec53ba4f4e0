package main

// hookPlants are in what happens around a run: middleware, webhooks, chains and
// the logs that are kept.
var hookPlants = []plant{
	{
		name: "hooks: middleware inside out", promise: "The first middleware is outermost.",
		edits: []edit{{"jobs/middleware.go", "slices.Backward(middleware)", "slices.All(middleware)"}},
		pkg:   jobs, tests: []string{"TestMiddlewareOrder"},
	},
}
