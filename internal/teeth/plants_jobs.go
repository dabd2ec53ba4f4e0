package main

const (
	jobs    = "./jobs"
	execjob = "./jobs/execjob"
	httpjob = "./jobs/httpjob"
)

// jobPlants are in how functions are called, and in the built-in ones.
var jobPlants = []plant{
	{
		name: "jobs: panic taken for a success", promise: "A function that panics fails its run and nothing else.",
		edits: []edit{{"jobs/call.go", "err = &PanicError{Value: v, Stack: debug.Stack(), where: panicPlace()}", "_ = &PanicError{Value: v, Stack: debug.Stack(), where: panicPlace()}"}},
		pkg:   jobs, tests: []string{"TestCallRecoversPanics"},
	},
	{
		name: "jobs: unknown param accepted", promise: "A param that the function does not have is an error.",
		edits: []edit{{"internal/decode/walker.go", "w.Fail(path, true, w.Words.Unknown(key, names(fields)))", ""}},
		pkg:   jobs, tests: []string{"TestDecodeMistakes"},
	},
	{
		name: "jobs: secret shown in logs", promise: "A resolved secret prints as *** in the lines of its run.",
		edits: []edit{{"jobs/bind.go", "run.Logger = hide.logger(run.Logger)", ""}},
		pkg:   jobs, tests: []string{"TestSecretsAreMasked"},
	},
	{
		name: "exec: group outlives the replica", promise: "A command ends when its replica is killed, with all its children.",
		edits: []edit{{"jobs/execjob/group.go", "read -r line\nkill -KILL 0`", "read -r line\nkill -KILL $$`"}},
		pkg:   execjob, tests: []string{"TestGuard", "TestGroupEndsWithTheReplica"},
	},
	{
		name: "exec: token not passed on", promise: "A command finds the fencing token of its claim.",
		edits: []edit{{"jobs/execjob/env.go", "strconv.FormatUint(uint64(run.Token), 10)", "strconv.Itoa(run.Attempt)"}},
		pkg:   execjob, tests: []string{"TestEnvironment"},
	},
	{
		name: "http: redirects are followed", promise: "A token goes to the configured server and to no other.",
		edits: []edit{{"jobs/httpjob/httpjob.go", "func(*http.Request, []*http.Request) error {", "func(_ *http.Request, via []*http.Request) error {\n\tif len(via) < 3 {\n\t\treturn nil\n\t}\n"}},
		pkg:   httpjob, tests: []string{"TestRedirectsAreNotFollowed"},
	},
}
