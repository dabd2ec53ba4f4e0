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
		name: "jobs: Goexit called a success", promise: "A function that ends its goroutine has failed.",
		edits: []edit{{"jobs/call.go", "\t*err = errGoexit\n", ""}},
		pkg:   jobs, tests: []string{"TestCallOutlivesGoexit"},
	},
	{
		name: "jobs: unknown param accepted", promise: "A param that the function does not have is an error.",
		edits: []edit{{"jobs/decode_struct.go", "d.unknownKey(key, fields, path)\n", "\n"}},
		pkg:   jobs, tests: []string{"TestDecodeMistakes"},
	},
	{
		name: "jobs: secret shown in logs", promise: "A resolved secret prints as *** in the lines of its run.",
		edits: []edit{{"jobs/bind.go", "run.Logger = hide.logger(run.Logger)", ""}},
		pkg:   jobs, tests: []string{"TestSecretsAreMasked"},
	},
	{
		name: "jobs: secret shown in errors", promise: "A resolved secret prints as *** in the error of its run.",
		edits: []edit{{"jobs/mask.go", "&maskedError{err: err, text: text}", "&maskedError{err: err, text: err.Error()}"}},
		pkg:   jobs, tests: []string{"TestSecretsAreMasked"},
	},
	{
		name: "jobs: runs share their params", promise: "A run cannot change the params of the next one.",
		edits: []edit{{"jobs/decode.go", "dst.Set(reflect.ValueOf(cloneTree(v)))", "dst.Set(reflect.ValueOf(v))"}},
		pkg:   jobs, tests: []string{"TestDecodeDoesNotShareTheTree", "TestHandlerGetsItsOwnParams"},
	},
	{
		name: "exec: group outlives the replica", promise: "A command ends when its replica is killed, with all its children.",
		edits: []edit{{"jobs/execjob/group.go", "read -r line\nkill -KILL 0`", "read -r line\nkill -KILL $$`"}},
		pkg:   execjob, tests: []string{"TestGuard", "TestGroupEndsWithTheReplica"},
	},
	{
		name: "exec: stubborn command only asked", promise: "A command that ignores SIGTERM is killed when its grace is over.",
		edits: []edit{{"jobs/execjob/group.go", "case <-over.C:\n\t\tg.signal(syscall.SIGKILL)\n\t\treturn\n\t}\n\tfor", "case <-over.C:\n\t\tg.signal(syscall.SIGQUIT)\n\t\treturn\n\t}\n\tfor"}},
		pkg:   execjob, tests: []string{"TestStubbornGroupIsKilled"},
	},
	{
		name: "exec: command killed without grace", promise: "A command has its grace to end in good order.",
		edits: []edit{{"jobs/execjob/group.go", "g.signal(syscall.SIGTERM)", "g.signal(syscall.SIGKILL)"}},
		pkg:   execjob, tests: []string{"TestGroupHasTimeToEnd"},
	},
	{
		name: "exec: leftovers live on", promise: "A run returns when all its processes are gone.",
		edits: []edit{
			{"jobs/execjob/execjob.go", "if left := g.others(); stopped || left > 0 {", "if left := g.others(); stopped {"},
			{"jobs/execjob/group.go", "func (g *group) close() error {\n\tg.signal(syscall.SIGKILL)", "func (g *group) close() error {\n\t_ = g.guard.Process.Kill()\n\t_ = g.guard.Wait()\n\tif true {\n\t\treturn g.alive.Close()\n\t}"},
		},
		pkg: execjob, tests: []string{"TestLeftoversAreEnded"},
	},
	{
		name: "exec: token not passed on", promise: "A command finds the fencing token of its claim.",
		edits: []edit{{"jobs/execjob/env.go", "strconv.FormatUint(uint64(run.Token), 10)", "strconv.Itoa(run.Attempt)"}},
		pkg:   execjob, tests: []string{"TestEnvironment"},
	},
	{
		name: "http: token not passed on", promise: "A request carries the fencing token of its claim.",
		edits: []edit{{"jobs/httpjob/httpjob.go", "strconv.FormatUint(uint64(run.Token), 10)", "strconv.Itoa(run.Attempt)"}},
		pkg:   httpjob, tests: []string{"TestRequest"},
	},
	{
		name: "http: redirects are followed", promise: "A token goes to the configured server and to no other.",
		edits: []edit{{"jobs/httpjob/httpjob.go", "func(*http.Request, []*http.Request) error {", "func(_ *http.Request, via []*http.Request) error {\n\tif len(via) < 3 {\n\t\treturn nil\n\t}\n"}},
		pkg:   httpjob, tests: []string{"TestRedirectsAreNotFollowed"},
	},
	{
		name: "http: secret shown in errors", promise: "What may be secret in a URL prints as ***.",
		edits: []edit{{"jobs/httpjob/httpjob.go", "text += \"?***\"", "text += \"?\" + u.RawQuery"}},
		pkg:   httpjob, tests: []string{"TestNoSecretsInErrorsAndLogs"},
	},
}
